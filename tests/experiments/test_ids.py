"""Every claim of the specification is there, by its name."""

import pytest
from experiments.papers import claims_of, papers

IDS = {
    "sigg_buhmann_2008": {
        *("sigg.alg1", "sigg.fig1", "sigg.prop3.1", "sigg.prop3.2", "sigg.claim.iter"),
        *("sigg.claim.init", "sigg.claim.cost", "sigg.fig2.left", "sigg.fig2.middle"),
        *("sigg.fig2.right", "sigg.claim.pc1", "sigg.fig3.left", "sigg.claim.time"),
        *("sigg.fig3.middle", "sigg.fig3.right", "sigg.fig4", "sigg.claim.std"),
        "sigg.eq18/19/20",
    },
    "asteris_2014": {
        *("ast.prop3.1", "ast.alg1-2", "ast.thm1", "ast.thm2", "ast.claim.lowrank"),
        *("ast.claim.ptas", "ast.time", "ast.fig1", "ast.fig2", "ast.fig3", "ast.fig4", "ast.fig5"),
        *("ast.fig6.k20", "ast.fig6.k90", "ast.claim.4090", "ast.claim.speed"),
    },
    "zass_shashua_2006": {
        *("zass.eq1", "zass.eq3-5, alg1", "zass.fig1", "zass.claim.zero", "zass.fig2"),
        *("zass.fig3a", "zass.fig3b", "zass.fig4a", "zass.fig4b", "zass.fig5a", "zass.fig5b"),
    },
    "guan_dy_2009": {
        *("gd.eq", "gd.fig1,3,4", "gd.fig2", "gd.tab1", "gd.fig5", "gd.fig6", "gd.tab2"),
        *("gd.claim.9to2", "gd.tab3", "gd.fig7", "gd.fig8", "gd.fig9", "gd.fig10"),
        *("gd.claim.auto", "gd.claim.ext"),
    },
    "ulfarsson_solo": {
        *("us.eq1, alg1, alg2", "us.bic", "us.fig1", "us.claim.bic10", "us.tab1", "us.fig2"),
        *("us.fig3", "us.fig4", "us.fig5", "us.tab2", "us.fig6"),
    },
}
#: Papers of which every claim is measured.
COMPLETE = set(IDS)


def test_there_are_seventy_one():
    assert sum(map(len, IDS.values())) == 71


@pytest.mark.parametrize("paper", papers())
def test_claims_have_the_names_of_the_specification(paper):
    assert set(claims_of(paper)) <= IDS[paper]
    if paper in COMPLETE:
        assert set(claims_of(paper)) == IDS[paper]
