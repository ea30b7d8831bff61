// What several pages are made of.

/** How a status is shown: its word, and the mark by which it is told without its colour. */
const STATUSES = {
  current: { label: "current", tone: "ok", mark: "✓" },
  success: { label: "success", tone: "ok", mark: "✓" },
  there: { label: "there", tone: "ok", mark: "✓" },
  passed: { label: "passed", tone: "ok", mark: "✓" },
  accepted: { label: "accepted", tone: "kept", mark: "✓" },
  kept: { label: "kept", tone: "kept", mark: "◐" },
  failed: { label: "failed", tone: "failed", mark: "✕" },
  lost: { label: "lost", tone: "failed", mark: "?" },
  withheld: { label: "withheld", tone: "withheld", mark: "!" },
  quarantined: { label: "quarantined", tone: "withheld", mark: "!" },
  dropped: { label: "dropped", tone: "stale", mark: "−" },
  warned: { label: "warned", tone: "stale", mark: "!" },
  stale: { label: "stale", tone: "stale", mark: "◢" },
  late: { label: "late", tone: "stale", mark: "◔" },
  missing: { label: "missing", tone: "missing", mark: "○" },
  never: { label: "never ran", tone: "missing", mark: "○" },
  running: { label: "running", tone: "running", mark: "▶" },
  requested: { label: "requested", tone: "running", mark: "↻" },
  planned: { label: "due now", tone: "running", mark: "›" },
  waiting: { label: "waiting", tone: "stale", mark: "…" },
  skipped: { label: "skipped", tone: "quiet", mark: "–" },
  cancelled: { label: "cancelled", tone: "quiet", mark: "–" },
  paused: { label: "paused", tone: "quiet", mark: "‖" },
  open: { label: "not over yet", tone: "open", mark: "·" },
  unlisted: { label: "not listed any more", tone: "quiet", mark: "·" },
  source: { label: "source", tone: "quiet", mark: "⇥" },
};
const ORDER = [
  "failed",
  "withheld",
  "late",
  "running",
  "stale",
  "missing",
  "requested",
  "never",
  "paused",
  "kept",
  "skipped",
  "current",
  "success",
  "there",
  "open",
];

const statusOf = (name) => STATUSES[name] || { label: name, tone: "quiet", mark: "·" };

function badge(status, text) {
  const { label, tone, mark } = statusOf(status);
  return h("span", { class: `badge tone-${tone}` }, h("i", { "aria-hidden": "true" }, mark), text || label);
}

function assetLink(name, { tab, partition, text } = {}) {
  if (!site.byName.has(name)) return h("span", null, text || name);
  return h("a", { href: address(["asset", name, ...(tab ? [tab] : [])], { partition }), class: "name" }, text || name);
}

const runLink = (run, text) => h("a", { href: address(["run", run]), class: "mono" }, text || run);
const quiet = (text) => h("span", { class: "quiet" }, text);
const empty = (text, hint) =>
  h("div", { class: "empty" }, h("p", null, text), hint && h("p", { class: "quiet" }, hint));

function section(title, aside, ...children) {
  return h(
    "section",
    null,
    h("header", { class: "head" }, h("h2", null, title), aside && h("div", { class: "aside" }, aside)),
    children,
  );
}

/** Names and values. */
function facts(pairs) {
  return h(
    "dl",
    { class: "facts" },
    pairs
      .filter(([, value]) => value !== undefined && value !== null && value !== "" && value !== false)
      .map(([name, value]) => [h("dt", null, name), h("dd", null, value)]),
  );
}

const ROWS = 150;

/**
 * A table; rows beyond the first come as they are scrolled to, so that very many do not hold up the page.
 * A column: {title, cell(row), right, wide (left out on a phone), fit}; of fewer than usual at `first` all come by a click.
 */
function table(columns, rows, { none = "Nothing to show.", first = ROWS } = {}) {
  if (!rows.length) return empty(none);
  const classes = (column) =>
    [column.right && "right", column.wide && "wide", column.fit && "fit"].filter(Boolean).join(" ") || undefined;
  const body = h("tbody");
  const element = h(
    "div",
    { class: "scroll" },
    h(
      "table",
      null,
      h(
        "thead",
        null,
        h(
          "tr",
          null,
          columns.map((column) => h("th", { scope: "col", class: classes(column) }, column.title)),
        ),
      ),
      body,
    ),
  );
  let shown = 0;
  const line = (row) =>
    h(
      "tr",
      null,
      columns.map((column) => h("td", { class: classes(column) }, column.cell(row))),
    );
  const more = () => {
    const some = rows.slice(shown, shown ? shown + ROWS : first);
    body.append(...some.map(line));
    shown += some.length;
    placeEnd();
  };
  const end = h("button", { class: "more", onclick: more });
  const placeEnd = () => {
    if (shown >= rows.length) return end.remove();
    end.textContent = first < ROWS ? `Show all ${number(rows.length)}` : "Show more";
    return end.isConnected || element.append(end);
  };
  more();
  if (first >= ROWS)
    new IntersectionObserver((seen) => seen.some((each) => each.isIntersecting) && shown < rows.length && more(), {
      rootMargin: "600px",
    }).observe(end);
  element.holds = { columns, rows };
  element.renew = (fresh) => {
    if (fresh.holds?.columns.length !== columns.length) return element.replaceWith(fresh);
    ({ columns, rows } = fresh.holds);
    const some = rows.slice(0, Math.max(shown, first));
    shown = some.length;
    renewChildren(body, some.map(line));
    return placeEnd();
  };
  return element;
}

/** How many partitions are in each status, as a bar and in words for who cannot see it. */
function stack(counts, { words = false } = {}) {
  const some = ORDER.filter((name) => counts[name]);
  const all = some.reduce((sum, name) => sum + counts[name], 0);
  if (!all) return null;
  const text = some.map((name) => `${number(counts[name])} ${statusOf(name).label}`).join(", ");
  const bar = h(
    "span",
    { class: "stack", role: "img", "aria-label": text, title: text },
    some.map((name) =>
      h("span", {
        class: `fill-${statusOf(name).tone}`,
        style: { "flex-grow": String(Math.max(counts[name], all / 60)) },
      }),
    ),
  );
  return words ? h("span", { class: "stacked" }, bar, h("span", { class: "quiet" }, text)) : bar;
}

/** A row of choices of which one is current. */
function choices(name, options, current, pick) {
  return h(
    "div",
    { class: "choices", role: "group", "aria-label": name },
    options.map(([value, label]) =>
      h("button", { "aria-pressed": String(value === current), onclick: () => pick(value) }, label),
    ),
  );
}

/** A bar a value, such as the seconds of each run, with its axis. */
function bars(values, { unit, format, height = 72 }) {
  const most = Math.max(...values.map((each) => each.value), 0);
  if (!values.length || most <= 0) return empty(`No ${unit} to show yet.`);
  const wide = 100 / Math.max(values.length, 24);
  return h(
    "figure",
    { class: "bars" },
    h("figcaption", null, h("span", null, unit), quiet(`up to ${format(most)}`)),
    svg(
      "svg",
      {
        viewBox: `0 0 100 ${height}`,
        preserveAspectRatio: "none",
        height,
        role: "img",
        "aria-label": `${unit}: ${values.length} values, up to ${format(most)}`,
      },
      values.map((each, place) => {
        const tall = Math.max(1, (each.value / most) * (height - 4));
        return svg(
          "a",
          { href: each.href },
          svg(
            "rect",
            {
              class: `fill-${each.tone || "running"}`,
              x: place * wide + wide * 0.12,
              width: wide * 0.76,
              y: height - tall,
              height: tall,
            },
            svg("title", null, each.title),
          ),
        );
      }),
    ),
  );
}
