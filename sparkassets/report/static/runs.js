// Runs and events: the timeline, the list, and one run.

const RUN_COLUMNS = [
  {
    title: "Started",
    cell: (run) => h("a", { href: address(["run", run.run]), title: run.run }, moment(run.started)),
    fit: true,
  },
  { title: "Asset", cell: (run) => assetLink(run.asset), fit: true },
  {
    title: "Status",
    cell: (run) => [
      badge(run.status, run.adopted ? "adopted" : undefined),
      run.kind === "backfill" ? quiet(" backfill") : "",
    ],
    fit: true,
  },
  {
    title: "Partitions",
    cell: (run) => [
      partitionText(run),
      run.unchanged ? quiet(` ${number(run.unchanged)} unchanged`) : "",
      run.withheld ? [" ", badge("withheld", `${number(run.withheld)} withheld`)] : "",
    ],
    wide: true,
  },
  {
    title: "Rows",
    cell: (run) => (run.rows === undefined ? "" : number(run.rows)),
    right: true,
    fit: true,
    wide: true,
  },
  { title: "Took", cell: (run) => (run.seconds === undefined ? "" : duration(run.seconds)), right: true, fit: true },
  {
    title: "Because",
    cell: (run) =>
      run.error
        ? h("span", { class: "error line", title: run.error }, run.error)
        : h("span", { class: "quiet line", title: run.skipped || run.reason }, run.skipped || run.reason || ""),
    wide: true,
  },
];

function runTable(runs, { own = false, none }) {
  return table(own ? RUN_COLUMNS.filter((column) => column.title !== "Asset") : RUN_COLUMNS, runs, { none });
}

function eventTable(events) {
  return table(
    [
      { title: "At", cell: (event) => moment(unixOf(event.at)), fit: true },
      {
        title: "Event",
        cell: (event) => h("span", { class: "mono" }, `#${event.seq}`),
        right: true,
        fit: true,
        wide: true,
      },
      { title: "Partitions", cell: partitionText },
      {
        title: "By",
        cell: (event) => (event.run ? runLink(event.run, "a run") : quiet(event.extra?.mark ? "a person" : "others")),
        fit: true,
      },
      {
        title: "Caused",
        cell: (event) => [
          (event.triggered || []).map((run) => h("div", null, runLink(run))),
          (event.included_in || []).map((run) => h("div", { class: "quiet" }, "read by ", runLink(run))),
        ],
      },
      {
        title: "Extra",
        cell: (event) =>
          quiet(
            Object.entries(event.extra || {})
              .map(([name, value]) => `${name}: ${value}`)
              .join(", "),
          ),
        wide: true,
      },
    ],
    events,
    { none: "No event of it is in the report." },
  );
}

async function runsPage({ query }) {
  const { runs } = await loadHistory();
  if (!runs.length)
    return h(
      "div",
      null,
      h("header", { class: "page" }, h("h1", null, "Runs")),
      empty("Nothing has run yet.", "sparkassets run computes what is due."),
    );
  const newest = Math.max(...runs.map(endOf));
  const enough = [...SPANS]
    .reverse()
    .find(([value]) => value !== "all" && runs.filter((run) => endOf(run) >= newest - value).length >= 20);
  const wanted = query.span || String(enough ? enough[0] : "all");
  const from = wanted === "all" ? runs.at(-1).started : newest - Number(wanted);
  const statuses = [...new Set(runs.map((run) => run.status))];
  const some = runs.filter((run) => endOf(run) >= from && (!query.status || run.status === query.status));
  const go = (changes) => (location.hash = address(["runs"], { span: wanted, status: query.status, ...changes }));
  return h(
    "div",
    null,
    h(
      "header",
      { class: "page" },
      h("h1", null, "Runs"),
      h(
        "div",
        { class: "tools" },
        choices(
          "Span",
          SPANS.map(([value, label]) => [String(value), label]),
          wanted,
          (value) => go({ span: value }),
        ),
        h(
          "select",
          { "aria-label": "Status", onchange: (event) => go({ status: event.target.value }) },
          h("option", { value: "" }, "Any status"),
          statuses.map((status) =>
            h("option", { value: status, selected: status === query.status }, statusOf(status).label),
          ),
        ),
        quiet(
          `${number(some.length)} of ${plural(runs.length, "run")}${site.index.counts.whole ? "" : " that the report holds"}`,
        ),
      ),
    ),
    some.length > 0 &&
      timeline(
        some,
        Math.min(...some.map((run) => run.started)),
        newest,
        (run) => (location.hash = address(["run", run.run])),
      ),
    h(
      "div",
      { class: "stackable" },
      section("Where the time went", null, timeSpent(some)),
      section("List", null, runTable(some, { none: "No run is like that." })),
    ),
  );
}

async function runPage({ parts }) {
  const { byRun, events } = await loadHistory();
  const run = byRun.get(parts[1]);
  if (!run) return notFound(`The report does not hold the run ${parts[1]}.`, address(["runs"]), "All runs");
  const used = new Set(run.events || []);
  const causes = events.filter((event) => used.has(event.seq) || event.triggered?.includes(run.run));
  const caused = events.filter((event) => event.run === run.run);
  return h(
    "div",
    null,
    h(
      "header",
      { class: "page" },
      h(
        "div",
        { class: "title" },
        h("h1", { class: "mono" }, run.run),
        badge(run.status, run.adopted ? "adopted" : undefined),
      ),
      h("p", { class: "quiet" }, assetLink(run.asset), ` · ${run.kind}`),
    ),
    run.error &&
      h(
        "div",
        { class: "alarm" },
        h("p", { class: "error" }, run.error),
        run.hint && h("p", null, run.hint),
        run.details && h("p", { class: "mono quiet" }, run.details),
      ),
    h(
      "div",
      { class: "split even" },
      h(
        "div",
        null,
        section(
          "What it was",
          null,
          facts([
            ["Because", run.reason],
            ["Partitions", run.partitions && h("span", { class: "mono" }, run.partitions)],
            ["How many", run.count !== undefined && number(run.count)],
            ["Unchanged", run.unchanged && number(run.unchanged)],
            ["Interval", run.interval && `${clock(run.interval[0])} – ${clock(run.interval[1])}`],
            ["Started", moment(run.started)],
            ["Ended", run.ended && moment(run.ended)],
            ["Took", run.seconds !== undefined && duration(run.seconds)],
            ["Attempts", run.attempts],
            ["Rows", run.rows !== undefined && number(run.rows)],
            ["Version", run.version !== undefined && number(run.version)],
            ["Code", run.definition && h("span", { class: "mono" }, run.definition)],
            ["Skipped", run.skipped],
            ["Recorded", run.adopted && ["the run ", runLink(run.adopted), ", which it found in the target"]],
          ]),
        ),
        run.verdicts?.length > 0 &&
          section(
            "Validations that failed",
            null,
            verdictTable(run.verdicts),
            run.verdicts.filter((each) => each.samples).map(samples),
          ),
      ),
      h(
        "div",
        null,
        section(
          "What it read",
          null,
          table(
            [
              { title: "Asset", cell: (each) => assetLink(each.asset), fit: true },
              { title: "Partitions", cell: (each) => h("span", { class: "mono" }, each.partitions || "all of it") },
              {
                title: "Version",
                cell: (each) => (each.version === undefined ? "" : number(each.version)),
                right: true,
                fit: true,
              },
            ],
            run.reads || [],
            { none: "It read no other asset." },
          ),
        ),
      ),
    ),
    section("Caused by", null, eventTable(causes)),
    section("Told others", null, eventTable(caused)),
  );
}

function verdictTable(verdicts) {
  return table(
    [
      { title: "Rule", cell: (each) => h("span", { class: "mono" }, each.rule), fit: true },
      { title: "Outcome", cell: (each) => badge(each.outcome), fit: true },
      {
        title: "Failing",
        cell: (each) => (each.checked === undefined ? "" : `${number(each.failing || 0)} of ${number(each.checked)}`),
        right: true,
        fit: true,
      },
      { title: "Partitions", cell: partitionText, wide: true },
      ...(verdicts.some((each) => each.observed)
        ? [{ title: "Observed", cell: (each) => each.observed || "", wide: true }]
        : []),
    ],
    verdicts,
  );
}
