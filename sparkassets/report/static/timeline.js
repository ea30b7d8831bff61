// Runs over time: a lane an asset, how many ran side by side, and where the time went.

const LANE = 20;
const SPANS = [
  ["all", "All"],
  [604800, "7 d"],
  [86400, "24 h"],
  [21600, "6 h"],
  [3600, "1 h"],
];

const endOf = (run) => run.ended ?? (run.status === "running" ? site.at : run.started);

/** When work on a run began: it is claimed before that, and waits for a free slot. */
const beginOf = (run) =>
  run.ended !== undefined && run.seconds !== undefined ? Math.max(run.started, run.ended - run.seconds) : run.started;

/** How many runs were under way, as steps: [[from, how many]]; ends are whole seconds, so half a second of each side is left out. */
function parallel(runs) {
  const spans = runs.map((run) => [beginOf(run) + 0.5, endOf(run) - 0.5]).filter(([begin, end]) => begin < end);
  const moves = spans
    .flatMap(([begin, end]) => [
      [begin, 1],
      [end, -1],
    ])
    .sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const steps = [];
  let now = 0;
  for (const [at, by] of moves) {
    now += by;
    if (steps.length && steps.at(-1)[0] === at) steps.at(-1)[1] = now;
    else steps.push([at, now]);
  }
  return steps;
}

/** The lanes of runs between two instants, drawn as far as they are seen. */
function timeline(runs, from, to, open) {
  const lanes = [...new Set([...runs].reverse().map((run) => run.asset))];
  const lane = new Map(lanes.map((name, place) => [name, place]));
  const steps = parallel(runs);
  const peak = Math.max(1, ...steps.map((step) => step[1]));
  const canvas = h("canvas");
  const spacer = h("div", { class: "spacer" });
  const box = h(
    "div",
    {
      class: "grid lanes",
      tabindex: "0",
      role: "img",
      "aria-label": `${plural(runs.length, "run")} of ${plural(lanes.length, "asset")}, at most ${peak} side by side; the table below has the same runs`,
    },
    h("div", { class: "pane" }, canvas),
    spacer,
  );
  const caption = h("p", { class: "read" }, quiet("Point at a run."));
  const pen = canvas.getContext("2d");
  const top = 66;
  const span = Math.max(1, to - from);
  let left = 0;
  let over = null;
  const x = (at) => left + ((at - from) / span) * (box.clientWidth - left - 10);

  const draw = () => {
    const [wide, tall] = [box.clientWidth, box.clientHeight];
    const sharp = window.devicePixelRatio || 1;
    left = Math.min(220, wide * 0.32, Math.max(...lanes.map((name) => name.length), 8) * 6.7 + 14);
    canvas.width = Math.round(wide * sharp);
    canvas.height = Math.round(tall * sharp);
    canvas.style.width = `${wide}px`;
    canvas.style.height = `${tall}px`;
    pen.setTransform(sharp, 0, 0, sharp, 0, 0);
    const colour = tones();
    pen.font = "11px ui-monospace, monospace";
    pen.textBaseline = "middle";
    const y0 = top - box.scrollTop;
    const first = Math.max(0, Math.floor(box.scrollTop / LANE));
    const last = Math.min(lanes.length - 1, Math.ceil((box.scrollTop + tall) / LANE));
    for (let row = first; row <= last; row += 1) {
      if (row % 2) {
        pen.fillStyle = colour("--stripe");
        pen.fillRect(0, y0 + row * LANE, wide, LANE);
      }
      pen.fillStyle = colour("--muted");
      pen.fillText(cut(lanes[row], (left - 12) / 6.7), 2, y0 + row * LANE + LANE / 2);
    }
    for (const run of runs) {
      const row = lane.get(run.asset);
      if (row < first || row > last) continue;
      const start = Math.max(left, x(beginOf(run)));
      const width = Math.max(2.5, x(endOf(run)) - start);
      const tone = statusOf(run.status).tone;
      pen.fillStyle = colour(`--fill-${tone}`);
      pen.fillRect(start, y0 + row * LANE + 4, width, LANE - 8);
      if (tone === "failed") {
        pen.fillStyle = colour("--ink");
        pen.fillText("✕", start + Math.min(width, 14) + 1, y0 + row * LANE + LANE / 2);
      }
      if (run === over) {
        pen.strokeStyle = colour("--ink");
        pen.strokeRect(start - 1, y0 + row * LANE + 3, width + 2, LANE - 6);
      }
    }
    pen.fillStyle = colour("--panel");
    pen.fillRect(0, 0, wide, top - 1);
    pen.fillStyle = colour("--fill-running");
    pen.globalAlpha = 0.35;
    const base = top - 22;
    steps.forEach(([at, count], place) => {
      const next = steps[place + 1]?.[0] ?? to;
      if (next >= from && at <= to)
        pen.fillRect(
          Math.max(left, x(at)),
          base - (count / peak) * 36,
          Math.max(1, x(Math.min(next, to)) - Math.max(left, x(at))),
          (count / peak) * 36,
        );
    });
    pen.globalAlpha = 1;
    pen.fillStyle = colour("--muted");
    pen.fillText(`${peak} side by side`, 2, base - 30);
    pen.strokeStyle = colour("--line");
    pen.beginPath();
    pen.moveTo(0, top - 1.5);
    pen.lineTo(wide, top - 1.5);
    const marks = Math.max(2, Math.floor((wide - left) / 130));
    for (let mark = 0; mark <= marks; mark += 1) {
      const at = from + (span * mark) / marks;
      pen.moveTo(x(at), top - 6);
      pen.lineTo(x(at), top - 2);
      pen.textAlign = mark === marks ? "right" : mark ? "center" : "left";
      pen.fillText(shortClock(at, span), x(at), base + 9);
    }
    pen.textAlign = "left";
    pen.stroke();
  };
  const redraw = () => requestAnimationFrame(draw);
  const runAt = (event) => {
    const bounds = box.getBoundingClientRect();
    const [px, py] = [event.clientX - bounds.left, event.clientY - bounds.top];
    const row = Math.floor((py - top + box.scrollTop) / LANE);
    if (py < top) return null;
    return (
      runs.find(
        (run) =>
          lane.get(run.asset) === row &&
          px >= x(beginOf(run)) - 3 &&
          px <= Math.max(x(endOf(run)), x(beginOf(run)) + 3) + 3,
      ) || null
    );
  };
  box.addEventListener("pointermove", (event) => {
    const run = runAt(event);
    if (run === over) return;
    over = run;
    show(
      caption,
      run
        ? [
            badge(run.status),
            " ",
            h("b", null, run.asset),
            " ",
            run.partitions || "",
            " ",
            quiet(`${clock(run.started)}${run.seconds === undefined ? "" : `, ${duration(run.seconds)}`}`),
          ]
        : quiet("Point at a run."),
    );
    redraw();
  });
  box.addEventListener("click", (event) => {
    const run = runAt(event);
    if (run) open(run);
  });
  box.addEventListener("scroll", redraw, { passive: true });
  spacer.style.height = `${top + lanes.length * LANE}px`;
  box.style.height = `${Math.min(top + lanes.length * LANE + 2, 420)}px`;
  new ResizeObserver(redraw).observe(box);
  onTheme(box, redraw);
  const element = h("div", { class: "gridded" }, box, caption);
  element.stamp = JSON.stringify([runs, from, to]);
  return element;
}

/** The assets by how long their runs took together. */
function timeSpent(runs) {
  const spent = new Map();
  for (const run of runs) {
    const known = spent.get(run.asset) || { asset: run.asset, seconds: 0, runs: 0, failed: 0, longest: 0 };
    const seconds = Math.max(0, run.seconds ?? endOf(run) - beginOf(run));
    spent.set(run.asset, {
      ...known,
      seconds: known.seconds + seconds,
      runs: known.runs + 1,
      failed: known.failed + (run.status === "failed"),
      longest: Math.max(known.longest, seconds),
    });
  }
  const rows = [...spent.values()].sort((a, b) => b.seconds - a.seconds);
  const all = rows.reduce((sum, row) => sum + row.seconds, 0) || 1;
  return table(
    [
      { title: "Asset", cell: (row) => assetLink(row.asset, { tab: "runs" }) },
      { title: "Time", cell: (row) => duration(row.seconds), right: true, fit: true },
      {
        title: "Share",
        cell: (row) =>
          h(
            "span",
            { class: "share" },
            h("span", { style: { width: `${(row.seconds / all) * 100}%` } }),
            h("em", null, `${Math.round((row.seconds / all) * 100)} %`),
          ),
        wide: true,
      },
      { title: "Runs", cell: (row) => number(row.runs), right: true, fit: true },
      { title: "Longest", cell: (row) => duration(row.longest), right: true, fit: true, wide: true },
      {
        title: "Failed",
        cell: (row) => (row.failed ? badge("failed", number(row.failed)) : ""),
        right: true,
        fit: true,
      },
    ],
    rows,
    { none: "No run took any time." },
  );
}
