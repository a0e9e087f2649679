"""How good a component could be: proven bounds, and the proofs to check them by.

Read this first. A certificate says: this component has variance ``value``, and no rival
has more than ``upper_bound``. The statement is checked by few files; many more search
for numbers that make it strong. The beginning of a file's name says which kind it is:

==============  =================================================================
``prove``       the one way in: from a component to its certificate
``certificate`` what is stated, verified and (``certificate_file``) stored;
                ``certificate_about`` says of which data, ``certificate_value``
                has the numbers, ``certificate_checks`` refuses what is malformed,
                ``certificate_error`` is what is raised
``problem``     who the rivals are: supports, forced features, signs;
                ``problem_after`` what earlier components leave to them
``bound_*``     limits that hold for every rival, each from a matrix and numbers
``proof_*``     how bounds are put together: screening, cases, replay
``search_*``    who looks for good numbers and components; nothing rests on them
``joint_*``     the same for several components together (below)
==============  =================================================================

Who wants to trust a certificate reads, in this order, ``problem``, ``problem_after``,
``bound_eigenvalue``, ``bound_rows``, ``bound_dual`` (the inequality), ``bound_outside``
(features a dual does not know), ``bound_instant``,
``bound_sample_space`` and ``bound_wide_entries`` (very many features, out of core),
``bound_single_support``, ``bound_any_constraint`` (groups, signs, budgets),
``bound_every_support`` (few groups, exactly),
``proof_screening``, ``proof_enumeration``, ``proof_cases`` (how a case is split),
``proof_rounds`` and ``proof_processes`` (who does the work, and in which order),
``proof_tree`` (its ``replay`` is the whole check) and ``certificate.verify``. None of these
imports a ``search_*`` file: a search that fails gives a weak bound, never a wrong one.

Who wants to change how bounds are found reads, in this order, ``prove``, ``search_case``
(one case: a dual, screening, again), ``search_dual`` with its kernels and ``search_lbfgs``,
``search_component`` (better components met on the way), ``search_working_set`` (thousands
of features), ``search_any_constraint`` (groups, some signs), ``search_known_block``,
``search_slices`` (cases by direction) and ``search_branch_and_bound``.

Several components together: ``joint_prove`` is the way in, ``joint_certificate`` what is stated
and verified, ``joint_file`` how it is stored, ``joint_problem`` who competes, ``joint_statement``
in which matrix. The statements rest on ``joint_bound`` (the theorems), ``joint_eigenvalues``,
``joint_supports``, ``joint_assignment`` (disjoint supports, exactly), ``joint_alone`` (very many
features) and ``joint_recovery``;
``joint_search``, ``joint_search_supports`` and ``joint_search_recovery`` look for good numbers.
"""

from loadstone.certificates.certificate import Certificate
from loadstone.certificates.certificate_error import CertificateError
from loadstone.certificates.joint_certificate import JointCertificate, JointClaim
from loadstone.certificates.joint_problem import ADJUSTED, RECOVERED, SUM
from loadstone.certificates.joint_prove import prove_together
from loadstone.certificates.problem_after import Earlier
from loadstone.certificates.prove import EFFORTS, prove

__all__ = [
    "ADJUSTED",
    "EFFORTS",
    "RECOVERED",
    "SUM",
    "Certificate",
    "CertificateError",
    "Earlier",
    "JointCertificate",
    "JointClaim",
    "prove",
    "prove_together",
]
