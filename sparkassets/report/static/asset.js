// One asset: how it stands, its partitions, runs, lineage, validations and definition.

const TABS = [
  ["", "Overview"],
  ["partitions", "Partitions"],
  ["runs", "Runs and events"],
  ["lineage", "Lineage"],
  ["validations", "Validations"],
  ["definition", "Definition"],
];

async function assetPage({ parts, query }) {
  const [, name, tab = ""] = parts;
  const row = site.byName.get(name);
  const page = await pageOf(name);
  if (!row || !page) return notFound(`There is no asset ${name}.`, address(["assets"]), "All assets");
  const tabs = TABS.filter(([id]) =>
    id === "partitions" ? page.grid : id === "validations" ? page.validations : true,
  );
  const body =
    {
      "": aboutTab,
      partitions: partitionsTab,
      runs: runsTab,
      lineage: lineageTab,
      validations: validationsTab,
      definition: definitionTab,
    }[tab] || aboutTab;
  return h(
    "div",
    null,
    h(
      "header",
      { class: "page" },
      h(
        "div",
        { class: "title" },
        h("h1", null, name),
        badge(assetState(row)),
        row.paused && row.state !== "paused" && badge("paused"),
        site.tools(row, page, query),
      ),
      h(
        "p",
        { class: "quiet" },
        [row.kind, row.type !== "dataset" && row.type, row.owner && `owned by ${row.owner}`, row.partitions]
          .filter(Boolean)
          .join(" · "),
        tagLinks(row),
      ),
      page.description && h("p", { class: "lead" }, page.description),
    ),
    h(
      "div",
      { class: "tabs", role: "tablist", "aria-label": name },
      tabs.map(([id, label]) =>
        h(
          "a",
          { role: "tab", "aria-selected": String(id === tab), href: address(["asset", name, ...(id ? [id] : [])]) },
          label,
        ),
      ),
    ),
    await body(row, page, query),
  );
}

async function aboutTab(row, page) {
  const { byAsset } = await loadHistory();
  const runs = (byAsset.get(writerOf(row).name) || []).slice(0, 8);
  const waits = site.index.waiting.filter((item) => item.asset === writerOf(row).name);
  return h(
    "div",
    { class: "split" },
    h(
      "div",
      null,
      row.error && h("div", { class: "alarm" }, badge("failed"), " ", h("span", { class: "error" }, row.error)),
      (row.notes || []).map((note) => h("div", { class: "note" }, note)),
      waits.map((item) =>
        h(
          "div",
          { class: "note" },
          badge("waiting"),
          " ",
          partitionText(item),
          " ",
          item.reason,
          item.until ? [" until ", moment(item.until)] : "",
        ),
      ),
      page.grid &&
        section(
          "Partitions",
          h("a", { href: address(["asset", row.name, "partitions"]) }, "Open"),
          stack(row.counts || {}, { words: true }),
          partitionGrid(row, page).element,
        ),
      section("Why it runs, or does not", null, tree(page.why)),
      section(
        "Last runs",
        h("a", { href: address(["asset", row.name, "runs"]) }, "All"),
        runTable(runs, { own: true, none: row.source ? "Others write it: it has no runs." : "It has not run yet." }),
      ),
    ),
    h(
      "aside",
      null,
      section(
        "At a glance",
        null,
        facts([
          ["State", badge(assetState(row))],
          ["Last success", row.last_at && moment(row.last_at)],
          ["Run", row.last_run && runLink(row.last_run)],
          ["Rows", row.rows !== undefined && number(row.rows)],
          ["Next", row.next_at && moment(row.next_at)],
          ["Schedule", page.schedule.text],
          ["Reads", page.inlets.length > 0 && page.inlets.map((inlet) => h("div", null, assetLink(inlet.name)))],
          ["Read by", row.readers.length > 0 && row.readers.map((reader) => h("div", null, assetLink(reader)))],
          ["Stored at", page.facts.find(([name]) => name === "Stored at")?.[1]],
        ]),
      ),
      section(
        "Around it",
        h("a", { href: address(["graph"], { focus: row.name }) }, "Graph"),
        graphView(site.index.graph, { focus: row.name, depth: 1, tall: 220 }),
      ),
    ),
  );
}

function partitionGrid(row, page, chosen) {
  return grid(page.grid, {
    label: row.name,
    chosen,
    pick: (key) => (location.hash = address(["asset", row.name, "partitions"], { partition: key })),
  });
}

async function partitionsTab(row, page, query) {
  if (!page.grid) return empty("This asset has no partitions.");
  const cellGrid = partitionGrid(row, page, query.partition);
  const { some, all } = stretches(page.grid, cellGrid.map, 300);
  return h(
    "div",
    null,
    cellGrid.element,
    query.partition && (await partitionPanel(row, page, cellGrid.map, query.partition)),
    section(
      "What is not as it should be",
      all > some.length && quiet(`the first ${number(some.length)} of ${number(all)}`),
      table(
        [
          {
            title: "Partitions",
            cell: (each) =>
              h(
                "a",
                { class: "mono", href: address(["asset", row.name, "partitions"], { partition: each.first }) },
                each.text,
              ),
          },
          { title: "How many", cell: (each) => number(each.count), right: true, fit: true, wide: true },
          { title: "State", cell: (each) => badge(each.status), fit: true },
          { title: "Cause", cell: (each) => each.cause },
        ],
        some,
        { none: "Every partition that is wanted is there and current." },
      ),
    ),
  );
}

/** One partition: how it stands and why, what computed it, and what it was made of and went into. */
async function partitionPanel(row, page, map, key) {
  const spot = map.find(key);
  const cell = spot && page.grid.codes[map.code(spot.row, spot.time)];
  if (!cell)
    return h(
      "div",
      { class: "panel" },
      h("h3", { class: "mono" }, key),
      empty("The report has no such partition.", "It may be older than what the report shows."),
    );
  const [status, cause, origin] = cell;
  const from = page.grid.origins[origin];
  const { byRun } = await loadHistory();
  const run = from?.run && byRun.get(from.run);
  return h(
    "div",
    { class: "panel", id: "partition" },
    h(
      "header",
      { class: "head" },
      h("h3", { class: "mono" }, key),
      badge(status),
      h(
        "div",
        { class: "aside" },
        h("a", { href: address(["asset", row.name, "lineage"], { partition: key }) }, "Lineage of this partition"),
      ),
    ),
    cause >= 0 && h("p", null, page.grid.causes[cause]),
    facts([
      [
        from?.kind === "run" ? "Computed by" : "Came by",
        from && [
          from.run ? runLink(from.run) : `${from.kind}${from.seq ? `, entry ${from.seq}` : ""}`,
          from.note ? quiet(` ${from.note}`) : "",
        ],
      ],
      ["At", from?.at && moment(from.at)],
      ["Version", from?.version !== undefined && number(from.version)],
      ["Code", from?.definition && h("span", { class: "mono" }, from.definition)],
      ["Because", run?.reason],
      [
        "That run read",
        run?.reads?.length &&
          run.reads.map((each) =>
            h(
              "div",
              null,
              assetLink(each.asset),
              " ",
              h("span", { class: "mono" }, each.partitions || "all of it"),
              each.version !== undefined ? quiet(` at version ${each.version}`) : "",
            ),
          ),
      ],
    ]),
    !from &&
      ["current", "kept", "stale", "there"].includes(status) &&
      quiet("What computed it is older than what the report holds: sparkassets lineage tells."),
  );
}

async function runsTab(row) {
  const { byAsset, events } = await loadHistory();
  const writer = writerOf(row);
  const runs = byAsset.get(writer.name) || [];
  const uris = new Set(site.index.datasets.filter((each) => each.assets.includes(row.name)).map((each) => each.uri));
  const own = events.filter((event) => event.asset === row.name || uris.has(event.uri));
  const timed = runs
    .filter((run) => run.seconds !== undefined)
    .slice(0, 80)
    .reverse();
  const counted = runs
    .filter((run) => run.rows !== undefined)
    .slice(0, 80)
    .reverse();
  const bar = (value, format) => (run) => ({
    value: run[value],
    tone: statusOf(run.status).tone,
    href: address(["run", run.run]),
    title: `${clock(run.started)} ${format(run[value])}`,
  });
  return h(
    "div",
    null,
    timed.length > 1 &&
      h(
        "div",
        { class: "charts" },
        bars(timed.map(bar("seconds", duration)), { unit: "Seconds of each run", format: duration }),
        counted.length > 1 && bars(counted.map(bar("rows", number)), { unit: "Rows of each run", format: number }),
      ),
    section(
      "Runs",
      quiet(plural(runs.length, "run")),
      runTable(runs, { own: true, none: row.source ? "Others write it: it has no runs." : "It has not run yet." }),
    ),
    section("Events", quiet("updates of its dataset, and the runs that these caused"), eventTable(own)),
  );
}

async function lineageTab(row, page, query) {
  const key = query.partition;
  if (!page.grid || !key) {
    return h(
      "div",
      null,
      graphView(site.index.graph, { focus: row.name, depth: 2, tall: 360 }),
      page.grid
        ? section(
            "By partition",
            null,
            quiet("Choose a partition to see what it was made of, and what it went into."),
            partitionGrid(row, page).element.firstChild &&
              grid(page.grid, {
                label: row.name,
                pick: (each) => (location.hash = address(["asset", row.name, "lineage"], { partition: each })),
              }).element,
          )
        : section(
            "As a whole",
            null,
            facts([
              ["Reads", page.inlets.map((inlet) => h("div", null, assetLink(inlet.name), " ", quiet(inlet.mapping)))],
              ["Read by", row.readers.map((name) => h("div", null, assetLink(name)))],
            ]),
          ),
    );
  }
  const view = h(
    "div",
    null,
    h(
      "p",
      { class: "crumbs" },
      h("a", { href: address(["asset", row.name, "lineage"]) }, "All partitions"),
      " / ",
      h("b", { class: "mono" }, key),
    ),
    h(
      "div",
      { class: "split even" },
      section("Made of", null, h("ul", { class: "tree" }, await lineageNode(row.name, key, "up", 2))),
      section("Went into", null, h("ul", { class: "tree" }, await lineageNode(row.name, key, "down", 2))),
    ),
  );
  view.stamp = JSON.stringify([page.grid, page.up, page.down]); // what a reader has unfolded stays, unless it has changed
  return view;
}

/** The partitions that a text of keys means, such as "2025-02-01..2025-02-28,de; 2025-03-01,*": of a text that is cut the first. */
function parseKeys(map, cells, text) {
  const spots = [];
  for (const label of text.replace(/ and [\d,]+ more$/, "").split(/; |, (?=\d{4}-)/)) {
    const parts = label.split(",");
    const span = map.timed ? parts.splice(cells.time_at, 1)[0].split("..") : [];
    const [from, to] = map.timed ? [cells.times.indexOf(span[0]), cells.times.indexOf(span[1] || span[0])] : [0, 0];
    if (from < 0 || to < 0) continue;
    map.rows.forEach((row, place) => {
      const own = row.segment.split(",");
      if (parts.some((part, at) => part !== "*" && part !== own[at])) return;
      for (let time = from; time <= to; time += 1) if (map.code(place, time) >= 0) spots.push({ row: place, time });
    });
  }
  return spots;
}

const UNFOLDED = 62;

/** One partition, or several of an asset together, with what is above or below: so many steps, the rest when it is asked for. */
async function lineageNode(name, text, way, depth) {
  const page = await pageOf(name);
  const map = page?.grid && makeCellMap(page.grid);
  const spots = text && map ? parseKeys(map, page.grid, text) : [];
  const keys = spots.map((spot) => map.keyOf(map.rows[spot.row], spot.time));
  const found = spots.map((spot) => page.grid.codes[map.code(spot.row, spot.time)]);
  const one = keys.length === 1 && keys[0] === text;
  const item = h(
    "li",
    null,
    assetLink(name, keys.length ? { tab: "partitions", partition: keys.at(-1) } : {}),
    " ",
    text && h("span", { class: "mono" }, text),
    " ",
  );
  if (one)
    item.append(
      badge(found[0][0]),
      found[0][1] >= 0 && !["current", "there"].includes(found[0][0])
        ? quiet(` ${page.grid.causes[found[0][1]]}`)
        : "",
    );
  else if (found.length) {
    const counts = {};
    for (const [status] of found) counts[status] = (counts[status] || 0) + 1;
    item.append(
      ...Object.entries(counts).map(([status, count]) =>
        h("span", { class: "tally" }, badge(status, `${number(count)} ${statusOf(status).label}`)),
      ),
    );
  }
  const unfolded = one
    ? page[way].map((link) => [link.asset, followLink(link, text)])
    : keys.slice(0, UNFOLDED).map((key) => [name, [key, ""]]);
  if (!unfolded.length) return item;
  const unfold = async () => {
    const list = h("ul");
    for (const [next, [below, words]] of unfolded)
      list.append(
        below
          ? await lineageNode(next, below, way, depth - 1)
          : h("li", null, assetLink(next, { tab: "lineage" }), " ", quiet(words)),
      );
    if (!one && keys.length > UNFOLDED)
      list.append(h("li", { class: "quiet" }, `and ${number(keys.length - UNFOLDED)} more`));
    return list;
  };
  if (one && depth > 0) item.append(await unfold());
  else {
    const button = h(
      "button",
      { class: "unfold", onclick: async () => button.replaceWith(await unfold()) },
      one ? (way === "up" ? "made of…" : "went into…") : "each…",
    );
    item.append(" ", button);
  }
  return item;
}

/** Where a link leads from a partition: [keys, words], the words where the report has no keys. */
function followLink(link, key) {
  if (link.kind === "same") return [key, ""];
  const [text] = link.of?.[key] || [""];
  return text
    ? [text, ""]
    : ["", { all: "all of it", newest: "its newest partition", some: "no partition that the report knows" }[link.kind]];
}

function validationsTab(row, page) {
  const { rules, runs, withheld, inlets } = page.validations;
  const series = rules.map((_, place) =>
    runs
      .map((run) => ({ run, verdicts: run.verdicts.filter(([rule]) => rule === place) }))
      .filter(({ verdicts }) => verdicts.length),
  );
  const failing = rules.map((rule, place) => ({
    rule,
    values: series[place].map(({ run, verdicts }) => ({
      value: verdicts.reduce((sum, each) => sum + each[2], 0),
      tone: statusOf(worst(verdicts)).tone,
      href: address(["run", run.run]),
      title: `${clock(run.at)}: ${verdicts.map((each) => `${number(each[2])} of ${number(each[3])} ${each[1]}`).join(", ")}`,
    })),
  }));
  const charted = failing.filter(({ values }) => values.some((each) => each.value));
  return h(
    "div",
    null,
    withheld.length > 0 &&
      section(
        "Withheld now",
        null,
        withheld.map((each) =>
          h(
            "div",
            { class: "panel" },
            h(
              "header",
              { class: "head" },
              badge("withheld"),
              h("b", { class: "mono" }, each.partitions || "all of it"),
              each.count > 1 ? quiet(plural(each.count, "partition")) : "",
              h("div", { class: "aside" }, runLink(each.run), " ", moment(each.at)),
            ),
            verdictTable(each.rules),
            each.rules.filter((rule) => rule.samples).map((rule) => samples(rule)),
            h("p", { class: "quiet" }, "Published all the same by ", h("code", null, each.accept)),
          ),
        ),
      ),
    section(
      "Rules",
      quiet("the newest runs at the right"),
      table(
        [
          {
            title: "Rule",
            cell: ({ rule }) => [
              h("span", { class: "mono" }, rule.name),
              h(
                "div",
                { class: "quiet" },
                rule.gone
                  ? "not asked any more"
                  : [
                      rule.asks !== rule.name && rule.asks,
                      rule.where && `where ${rule.where}`,
                      rule.allow && `allows ${rule.allow}`,
                      rule.per && `of each ${rule.per}`,
                    ]
                      .filter(Boolean)
                      .join(" · "),
              ),
            ],
          },
          { title: "Severity", cell: ({ rule }) => rule.severity || "", fit: true, wide: true },
          {
            title: "Last",
            cell: ({ last }) => (last ? badge(worst(last.verdicts)) : quiet("not judged yet")),
            fit: true,
          },
          {
            title: "Failing",
            cell: ({ last }) => (last ? number(last.verdicts.reduce((sum, each) => sum + each[2], 0)) : ""),
            right: true,
            fit: true,
          },
          { title: "Runs", cell: ({ all }) => strip(all), wide: true },
        ],
        rules.map((rule, place) => ({ rule, all: series[place], last: series[place].at(-1) })),
        { none: "No rule is written." },
      ),
    ),
    inlets.length > 0 &&
      section(
        "Asked of inlets before a run",
        null,
        h(
          "ul",
          { class: "notes" },
          inlets.map(([inlet, rule]) => h("li", null, assetLink(inlet), " ", h("span", { class: "mono" }, rule))),
        ),
      ),
    charted.length > 0 &&
      section(
        "Rows that fail, over time",
        null,
        h(
          "div",
          { class: "charts" },
          charted.map(({ rule, values }) => bars(values, { unit: rule.name, format: (value) => plural(value, "row") })),
        ),
      ),
  );
}

const OUTCOMES = ["withheld", "quarantined", "dropped", "warned", "accepted", "passed"];
const worst = (verdicts) => OUTCOMES.find((outcome) => verdicts.some((each) => each[1] === outcome)) || "passed";

/** A mark a run, in its colour, oldest first. */
function strip(series) {
  const some = series.slice(-40);
  return h(
    "span",
    { class: "strip" },
    some.map(({ run, verdicts }) => {
      const outcome = worst(verdicts);
      return h(
        "a",
        {
          href: address(["run", run.run]),
          class: `fill-${statusOf(outcome).tone}`,
          title: `${clock(run.at)}: ${statusOf(outcome).label}, ${verdicts.reduce((sum, each) => sum + each[2], 0)} failing`,
          "aria-label": `${clock(run.at)} ${statusOf(outcome).label}`,
        },
        outcome === "passed" ? "" : statusOf(outcome).mark,
      );
    }),
  );
}

/** Some of the rows that a rule failed; what must not be seen is hidden in them. */
function samples(rule) {
  const columns = [...new Set(rule.samples.flatMap((row) => Object.keys(row)))];
  return h(
    "details",
    null,
    h(
      "summary",
      null,
      `${plural(rule.samples.length, "row")} that ${rule.samples.length === 1 ? "fails" : "fail"} `,
      h("span", { class: "mono" }, rule.rule),
    ),
    table(
      columns.map((name) => ({ title: name, cell: (row) => h("span", { class: "mono" }, row[name] ?? "") })),
      rule.samples,
    ),
  );
}

function definitionTab(row, page) {
  const { schedule } = page;
  return h(
    "div",
    { class: "split even" },
    h(
      "div",
      null,
      page.code.text &&
        section(
          page.code.kind === "sql" ? "SQL" : "Function",
          page.code.place && h("span", { class: "mono quiet" }, page.code.place),
          h(
            "pre",
            { class: "code", tabindex: "0" },
            page.code.kind === "sql" ? highlighted(page.code.text) : page.code.text,
          ),
        ),
      page.rendered &&
        section(
          "What the next run executes",
          h("span", { class: "mono quiet" }, page.rendered.partitions.join(", ")),
          page.rendered.notes.map(quiet),
          page.rendered.code.map((code) => [
            code.function && h("p", { class: "mono" }, code.function),
            code.statements.map((text) => h("pre", { class: "code", tabindex: "0" }, highlighted(text))),
          ]),
        ),
      section(
        "Columns",
        null,
        table(
          [
            { title: "Column", cell: ([name]) => h("span", { class: "mono" }, name) },
            {
              title: "Type",
              cell: ([, type, isPrivate]) => [
                h("span", { class: "mono quiet" }, type),
                isPrivate && quiet(" private: no value of it is shown"),
              ],
            },
            { title: "Description", cell: ([, , , description]) => description },
          ],
          page.columns,
          { none: "Its columns are not declared." },
        ),
      ),
      section(
        "Versions of its code",
        null,
        page.versions.length
          ? h(
              "ol",
              { class: "versions" },
              page.versions.map((each) =>
                h(
                  "li",
                  null,
                  h(
                    "p",
                    null,
                    h("b", { class: "mono" }, each.definition),
                    " ",
                    each.current ? badge("current", "now") : "",
                    " ",
                    each.run ? [quiet("last run "), runLink(each.run), " "] : "",
                    each.at ? moment(each.at) : "",
                  ),
                  h("p", { class: "quiet" }, `computed ${each.partitions || "all of it"}`),
                  each.changes.length > 0 &&
                    h(
                      "pre",
                      { class: "code diff" },
                      each.changes.map((line) =>
                        h(
                          "span",
                          { class: line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : "" },
                          `${line}\n`,
                        ),
                      ),
                    ),
                ),
              ),
            )
          : empty("No run has recorded its code yet."),
      ),
    ),
    h(
      "div",
      null,
      section(
        "Schedule",
        null,
        facts([
          ["When", schedule.text],
          ["In words", schedule.described],
          ["Zone", schedule.timezone],
        ]),
        schedule.next.length
          ? table(
              [
                { title: "Next runs", cell: ([at]) => moment(at) },
                { title: "Interval", cell: ([, start, end]) => quiet(`${clock(start)} – ${clock(end)}`), wide: true },
              ],
              schedule.next,
            )
          : quiet(schedule.reason),
      ),
      section(
        "Inlets",
        null,
        table(
          [
            { title: "Asset", cell: (inlet) => assetLink(inlet.name) },
            {
              title: "A partition needs",
              cell: (inlet) => [
                inlet.mapping,
                [inlet.read, ...inlet.gates, inlet.on_update === "ignore" && "its updates start nothing"]
                  .filter(Boolean)
                  .map((text) => h("div", { class: "quiet" }, text)),
              ],
            },
          ],
          page.inlets,
          { none: "It reads no other asset." },
        ),
      ),
      page.watermarks.length > 0 && section("How far it has read", null, facts(page.watermarks)),
      section("Settings", null, facts(page.facts)),
      page.extra.length > 0 && section("Extra", null, facts(page.extra)),
    ),
  );
}

const KEYWORDS = new Set(
  "select from where group by order having join left right full inner outer cross on as and or not in is null case when then else end with union all distinct limit over partition between like exists interval date timestamp cast true false lateral view using qualify".split(
    " ",
  ),
);

/** SQL with its keywords, strings and comments coloured. */
function highlighted(text) {
  return (text.match(/--[^\n]*|'(?:[^']|'')*'|\{\{[^}]*\}\}|\{%[^%]*%\}|[A-Za-z_]\w*|[\s\S]/g) || []).map((word) => {
    if (word.startsWith("--")) return h("span", { class: "comment" }, word);
    if (word.startsWith("'")) return h("span", { class: "text" }, word);
    if (word.startsWith("{{") || word.startsWith("{%")) return h("span", { class: "template" }, word);
    return KEYWORDS.has(word.toLowerCase()) ? h("span", { class: "keyword" }, word) : word;
  });
}

/** The tree of an explanation. */
function tree(node) {
  const sign = (holds) =>
    holds === undefined
      ? h("span", { class: "sign" })
      : h("span", { class: "sign", title: holds ? "holds" : "does not hold" }, holds ? "✓" : "✕");
  const line = (each) =>
    h(
      "li",
      { class: each.holds === undefined ? "" : each.holds ? "holds" : "lacks" },
      sign(each.holds),
      each.text,
      each.below?.length > 0 && h("ul", null, each.below.map(line)),
    );
  return node.below?.length ? h("ul", { class: "tree" }, node.below.map(line)) : quiet("Nothing is known of it yet.");
}
