"use strict";

// Only on demand: few readers ask how the search went.
addPanel({
  name: "convergence", order: 90, section: "convergence", title: "Along the search", wide: true,
  needs: (page) => Boolean(page.data.traces), uses: ["convergence"], caption: "The objective at each step of the search.",
  draw(holder, page) {
    if (!byId("section-convergence").open) return;
    const { joint, steps, values } = page.data.traces;
    const together = joint && page.summary.components.length !== 1;
    const area = plane(holder, {
      height: 260, legend: values.slice(0, 8).map((_, j) => [together ? "all components" : `component ${j + 1}`, colour(j), "line"]), x: extent(steps.flat(), 0), y: extent(values.flat()), xName: "step", yName: joint ? "objective" : "variance",
      xTicks: niceTicks(1, Math.max(...steps.flat()), 8).filter(Number.isInteger), label: `Objective along the search of ${plural(values.length, "component")}`,
    });
    values.forEach((trace, j) => {
      curve(area.svg, trace.map((v, i) => [area.x(steps[j][i]), area.y(v)]), { stroke: colour(j), "stroke-width": 1.5 });
      const end = trace.length - 1;
      point(area.svg, 0, area.x(steps[j][end]), area.y(trace[end]), 3.5, { fill: colour(j) }, `${together ? "All components" : `Component ${j + 1}`}: ${asNumber(trace[end])} after ${plural(steps[j][end], "step")}`);
    });
  },
});
