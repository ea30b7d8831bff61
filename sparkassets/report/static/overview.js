// The first page: what asks for somebody, what is to come, and what ran last.

const LATE = 3600;
const FIRST = { first: 12 };

/** The word for how an asset stands. */
function assetState(asset) {
  if (asset.source) return asset.error ? "failed" : isLate(asset) ? "late" : "source";
  if (isLate(asset) && !["failed", "withheld", "running"].includes(asset.state)) return "late";
  return asset.state;
}

/** Whether time let an asset run long before the report was written, and nothing ran. */
const isLate = (asset) =>
  Boolean(asset.late) ||
  (asset.next_at !== undefined && !asset.paused && !asset.running && asset.next_at < site.at - LATE);

const partitionText = (item) => (item.partitions ? h("span", { class: "mono" }, item.partitions) : "");

function tile(status, count, text, target) {
  return h(
    "a",
    { class: `tile${count ? ` tone-${statusOf(status).tone}` : " none"}`, href: target },
    h("b", null, number(count)),
    h("span", null, h("i", { "aria-hidden": "true" }, statusOf(status).mark), " ", text),
  );
}

function overviewPage() {
  const { index } = site;
  const assets = index.assets.filter((asset) => !asset.source);
  const failed = index.assets.filter((asset) => asset.error || asset.counts?.failed);
  const withheld = assets.filter((asset) => asset.withheld);
  const late = index.assets.filter(isLate);
  const running = assets.filter((asset) => asset.running);
  const waiting = index.waiting;
  const waits = new Set(waiting.map((item) => item.asset));
  const tiles = h(
    "div",
    { class: "tiles" },
    tile("failed", failed.length, "failed", address(["assets"], { state: "failed" })),
    withheld.length > 0 && tile("withheld", withheld.length, "withheld", address(["assets"], { state: "withheld" })),
    tile("late", late.length, "late", address(["assets"], { state: "late" })),
    tile("waiting", waits.size, "waiting", "#waits"),
    tile("planned", new Set(index.planned.map((run) => run.asset)).size, "due now", "#due"),
    tile("running", running.length, "running", address(["assets"], { state: "running" })),
  );
  tiles.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#w'], a[href^='#d']");
    if (!link) return;
    event.preventDefault();
    document.querySelector(link.getAttribute("href"))?.scrollIntoView({ behavior: "smooth" });
  });
  const calm = !failed.length && !late.length && !withheld.length && !waiting.some((item) => item.stuck);
  return h(
    "div",
    null,
    h(
      "header",
      { class: "page" },
      h("h1", null, index.project),
      h(
        "p",
        { class: "quiet" },
        `${plural(assets.length, "asset")}, ${plural(index.assets.length - assets.length, "source")}`,
      ),
    ),
    tiles,
    calm && h("p", { class: "calm" }, badge("success", "Nothing failed, nothing is late.")),
    failed.length > 0 && section("Failed", null, failedTable(failed)),
    withheld.length > 0 && section("Withheld", null, withheldTable(withheld)),
    late.length > 0 && section("Late", null, lateTable(late)),
    h("div", { id: "waits" }, waiting.length > 0 && section("Waiting", null, waitingTable(waiting))),
    h(
      "div",
      { id: "due" },
      index.planned.length > 0 &&
        section("Due now", quiet("what a run started now would do"), plannedTable(index.planned)),
    ),
    index.notes.length + index.warnings.length > 0 &&
      section(
        "Notes",
        null,
        h(
          "ul",
          { class: "notes" },
          index.notes.map((note) => h("li", null, assetLink(note.asset), " ", note.text)),
          index.warnings.map((text) => h("li", null, text)),
        ),
      ),
    section(
      "Last runs",
      h("a", { href: address(["runs"]) }, "All runs"),
      runTable([...index.recent].reverse().slice(0, 15), { none: "Nothing has run yet: sparkassets run" }),
    ),
    comingTable(assets),
  );
}

function failedTable(rows) {
  return table(
    [
      { title: "Asset", cell: (row) => assetLink(row.name), fit: true },
      {
        title: "Partitions",
        cell: (row) => (row.counts?.failed ? number(row.counts.failed) : "all"),
        right: true,
        fit: true,
        wide: true,
      },
      { title: "Error", cell: (row) => h("span", { class: "error" }, row.error || "") },
      { title: "Last success", cell: (row) => moment(row.last_at), fit: true, wide: true },
    ],
    rows,
    FIRST,
  );
}

function withheldTable(rows) {
  return table(
    [
      { title: "Asset", cell: (row) => assetLink(row.name, { tab: "validations" }), fit: true },
      {
        title: "Partitions",
        cell: (row) => (row.counts?.withheld ? number(row.counts.withheld) : "all"),
        right: true,
        fit: true,
      },
      { title: "Why", cell: (row) => (row.withheld || []).join("; ") },
    ],
    rows,
    FIRST,
  );
}

function lateTable(rows) {
  return table(
    [
      { title: "Asset", cell: (row) => assetLink(row.name), fit: true },
      { title: "Since", cell: (row) => moment(row.late_since ?? row.next_at), fit: true },
      { title: "What", cell: (row) => row.late || `due by its schedule (${row.schedule}), and has not run` },
      { title: "Last success", cell: (row) => moment(row.last_at), fit: true, wide: true },
    ],
    rows,
    FIRST,
  );
}

function waitingTable(rows) {
  return table(
    [
      { title: "Asset", cell: (row) => assetLink(row.asset), fit: true },
      { title: "Partitions", cell: partitionText, wide: true, fit: true },
      { title: "Waits for", cell: (row) => row.reason },
      { title: "Until", cell: (row) => (row.until ? moment(row.until) : ""), fit: true, wide: true },
    ],
    rows,
    FIRST,
  );
}

function plannedTable(rows) {
  return table(
    [
      { title: "Asset", cell: (row) => assetLink(row.asset), fit: true },
      { title: "Partitions", cell: partitionText, wide: true, fit: true },
      { title: "Because", cell: (row) => row.reason },
    ],
    rows,
    FIRST,
  );
}

function comingTable(assets) {
  const coming = assets
    .filter((asset) => asset.next_at > site.at)
    .sort((a, b) => a.next_at - b.next_at)
    .slice(0, 10);
  if (!coming.length) return null;
  return section(
    "Next by schedule",
    null,
    table(
      [
        { title: "At", cell: (row) => moment(row.next_at), fit: true },
        { title: "Asset", cell: (row) => assetLink(row.name), fit: true },
        { title: "Schedule", cell: (row) => quiet(row.schedule) },
      ],
      coming,
    ),
  );
}
