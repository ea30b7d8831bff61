// What a person can do with an asset: each is a command of the command line, which the server runs and shows.

const allowed = root.dataset.actions === "on";
const PARTITION = { name: "partition", label: "Partitions", hint: "KEY, or A..B with both ends" };
const REASON = { name: "reason", label: "Reason", hint: "recorded with your name", required: true };
const MARKS = {
  name: "kind",
  label: "As",
  choices: [
    ["missing", "missing: compute it again"],
    ["done", "done: it counts as computed"],
    ["skip", "skip: it is not wanted"],
  ],
};
const FLAGS = [
  { name: "whole", label: "All that is expected (--all)", flag: true, partitioned: true },
  { name: "force", label: "Also what is up to date (--force)", flag: true },
  { name: "downstream", label: "Then everything downstream (--downstream)", flag: true },
];
const ACTIONS = {
  explain: { label: "Explain", asks: true, text: "Why it would run, or would not.", fields: [PARTITION] },
  render: { label: "SQL", asks: true, text: "What a run would execute now.", fields: [PARTITION] },
  backfill: {
    label: "Backfill",
    asks: true,
    text: "Computes what is missing or stale. You see its price first.",
    fields: [PARTITION, ...FLAGS, REASON],
  },
  retry: {
    label: "Retry",
    text: "Runs what is due of it, and tries again what failed.",
    fields: [REASON],
    fits: (row) => row.error || row.counts?.failed,
  },
  accept: {
    label: "Accept",
    text: "Publishes withheld partitions although their validations fail; without partitions all of them.",
    fields: [PARTITION, REASON],
    fits: (row) => row.withheld,
  },
  mark: { label: "Mark", text: "Says how partitions stand, without running them.", fields: [MARKS, PARTITION, REASON] },
  pause: {
    label: "Pause",
    text: "Stops new runs of it; what comes meanwhile is kept.",
    fields: [REASON],
    fits: (row) => !row.paused,
  },
  resume: {
    label: "Resume",
    text: "Lets it run again, with what came meanwhile.",
    fields: [REASON],
    fits: (row) => row.paused,
  },
};

site.tools = (row, page, query) => {
  const writer = writerOf(row);
  const fitting = Object.entries(ACTIONS).filter(([verb, action]) =>
    row.source ? verb === "explain" : (allowed || action.asks) && (!action.fits || action.fits(writer)),
  );
  return h(
    "div",
    { class: "actions", role: "group", "aria-label": "Actions" },
    fitting.map(([verb, { label }]) =>
      h(
        "button",
        {
          onclick: () =>
            openAction(verb, writer.name, { isPartitioned: Boolean(page.grid), partition: query.partition || "" }),
        },
        `${label}…`,
      ),
    ),
  );
};

function controlOf(field, partition) {
  const id = `action-${field.name}`;
  if (field.flag) return h("label", { class: "flag" }, h("input", { type: "checkbox", name: field.name }), field.label);
  const control = field.choices
    ? h(
        "select",
        { id, name: field.name },
        field.choices.map(([value, text]) => h("option", { value }, text)),
      )
    : h("input", {
        id,
        name: field.name,
        value: field === PARTITION ? partition : "",
        required: field.required,
        autocomplete: "off",
        spellcheck: field === REASON ? "true" : "false",
      });
  return h(
    "div",
    { class: "field" },
    h("label", { for: id }, field.label, field.hint && quiet(` ${field.hint}`)),
    control,
  );
}

/** A dialog with the options of a command, its answer, and for a backfill its price before it starts. */
function openAction(verb, asset, { isPartitioned, partition }) {
  const action = ACTIONS[verb];
  const fields = action.fields.filter(
    (field) => (isPartitioned || (field !== PARTITION && !field.partitioned)) && (allowed || field !== REASON),
  );
  const answer = h("div", { class: "answer", role: "status" });
  const go = h("button", { class: "go", type: "submit" });
  let priced = false;
  const label = () => (go.textContent = verb === "backfill" ? (priced ? "Start it" : "Show its price") : action.label);
  const values = () => {
    const request = { verb: verb === "backfill" && !priced ? "price" : verb, asset };
    for (const control of form.elements)
      if (control.name) request[control.name] = control.type === "checkbox" ? control.checked : control.value.trim();
    return request;
  };
  const submit = async (event) => {
    event.preventDefault();
    if (go.disabled) return;
    go.disabled = true;
    const request = values();
    show(answer, quiet("…"));
    try {
      const command = await start(request);
      if (command.exit === null) return dialog.close();
      show(answer, shown(command));
      priced = allowed && request.verb === "price" && command.exit === 0 && command.answer.runs.length > 0;
      if (request.verb !== "price" && !action.asks && command.exit === 0) go.remove();
    } catch (error) {
      show(answer, alarm(error));
    } finally {
      go.disabled = false;
      label();
    }
  };
  const form = h(
    "form",
    {
      onsubmit: submit,
      oninput: () => {
        priced = false;
        label();
      },
    },
    h("h2", { id: "action-title" }, `${action.label} `, h("span", { class: "mono" }, asset)),
    h("p", { class: "quiet" }, action.text),
    fields.map((field) => controlOf(field, partition)),
    answer,
    h("div", { class: "buttons" }, go, h("button", { type: "button", onclick: () => dialog.close() }, "Close")),
  );
  const dialog = h(
    "dialog",
    { class: "action", "aria-labelledby": "action-title", onclose: () => dialog.remove() },
    form,
  );
  label();
  document.body.append(dialog);
  dialog.showModal();
  if (action.asks && verb !== "backfill" && (partition || !isPartitioned)) form.requestSubmit();
}

/** Starts a command; one that computes is followed at the foot of the page. */
async function start(request) {
  const command = await send("commands", request);
  if (command.exit === null) followCommand(command);
  else if (!["explain", "render", "price"].includes(request.verb)) setTimeout(follow, 300);
  return command;
}

const send = (path, body) =>
  ask(path, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Sparkassets": "1" },
    body: JSON.stringify(body ?? {}),
  });
const alarm = (error) =>
  h(
    "div",
    { class: "alarm" },
    h("p", { class: "error" }, error.message),
    error.hint && h("p", null, `hint: ${error.hint}`),
    (error.problems || []).map((each) => h("p", { class: "mono" }, `${each.file}:${each.line}: ${each.message}`)),
  );
const typed = (text) => h("p", { class: "typed" }, h("code", null, `$ ${text.replace(" --dry-run", "")}`));

/** A command with its answer. */
function shown({ verb, answer, command, exit, lines }) {
  const shownAnswer = answer?.error
    ? alarm(answer.error)
    : answer
      ? ANSWERS[verb](answer)
      : h("pre", { class: "code" }, lines.join("\n") || `it ended with exit code ${exit}`);
  return [shownAnswer, typed(command)];
}

const textOf = (partitions) =>
  h(
    "span",
    { class: "mono" },
    (partitions?.ranges || []).map((text) => text.replace(/^([^.,]+)\.\.\1(?=,|$)/, "$1")).join(", "),
  );
const nodeOf = ({ text, holds, children }) => ({
  text,
  holds: holds ?? undefined,
  below: (children || []).map(nodeOf),
});
const bytes = (count) =>
  count === null || count === undefined
    ? "?"
    : count >= 1e9
      ? `${(count / 1e9).toFixed(1)} GB`
      : count >= 1e6
        ? `${(count / 1e6).toFixed(1)} MB`
        : `${Math.ceil(count / 1e3)} kB`;
const took = (seconds) => (seconds === null || seconds === undefined ? "?" : duration(seconds));

const ANSWERS = {
  explain: (node) => tree(nodeOf(node)),
  render: (run) => [
    h("p", { class: "quiet" }, run.reason),
    run.code.map((code) => [
      code.function && h("p", null, h("code", null, code.function)),
      code.statements.map((text) => h("pre", { class: "code", tabindex: "0" }, highlighted(text))),
    ]),
  ],
  price: (plan) => [
    h(
      "p",
      null,
      h("b", null, plan.runs.length ? plural(plan.runs.length, "run") : "Nothing to compute"),
      plan.totals && plan.runs.length > 0 ? `: ${bytes(plan.totals.bytes)} to read, ${took(plan.totals.seconds)}` : "",
    ),
    plan.waiting
      .filter((each) => !each.quiet || !plan.runs.length)
      .map((each) => h("p", { class: "quiet" }, textOf(each.partitions), " ", each.reason)),
    plan.runs.length > 0 &&
      table(
        [
          { title: "Partitions", cell: (run) => [textOf(run.partitions), h("div", { class: "quiet" }, run.reason)] },
          { title: "Reads", cell: (run) => bytes(run.estimate?.bytes), right: true, fit: true },
          { title: "Takes", cell: (run) => took(run.estimate?.seconds), right: true, fit: true },
        ],
        plan.runs,
        { first: 8 },
      ),
    plan.downstream?.length > 0 &&
      h("p", { class: "quiet" }, `Then due: ${plan.downstream.map((each) => each.asset).join(", ")}`),
  ],
  backfill: summaryOf,
  retry: summaryOf,
  mark: (mark) =>
    h(
      "p",
      null,
      badge(mark.changed ? "success" : "skipped", mark.changed ? "recorded" : "unchanged"),
      " ",
      textOf(mark.partitions?.count ? mark.partitions : mark.unchanged),
      ` ${mark.mark}: ${mark.reason} (${mark.by})`,
    ),
  accept: (mark) => ANSWERS.mark(mark),
  pause: ({ paused }) => h("p", null, badge("paused", paused.length ? "paused" : "was already paused")),
  resume: ({ resumed }) => h("p", null, badge("success", resumed.length ? "resumed" : "was not paused")),
};

function summaryOf({ runs, waiting }) {
  const failed = runs.filter((run) => run.error);
  return [
    h(
      "p",
      null,
      runs.length
        ? [...new Set(runs.map((run) => run.status))].map((status) => [
            badge(status, `${runs.filter((run) => run.status === status).length} ${statusOf(status).label}`),
            " ",
          ])
        : "Nothing was due.",
    ),
    failed.slice(0, 3).map((run) => h("p", { class: "error" }, run.error)),
    !runs.length &&
      waiting
        .filter((each) => !each.quiet)
        .slice(0, 3)
        .map((each) => h("p", { class: "quiet" }, `${each.asset}: ${each.reason}`)),
  ];
}

const bar = h("div", { id: "commands", role: "status", "aria-label": "Commands" });
document.body.append(bar);

/** Shows a command that computes at the foot of the page until it is dismissed. */
function followCommand(command) {
  const item = h("div", { class: "command" });
  const stop = h("button", { onclick: () => send(`commands/${command.id}/stop`) }, "Stop");
  const update = (now) => {
    const since = h(
      "span",
      { class: "quiet" },
      now.exit === null ? ` ${duration(Math.max(0, Date.now() / 1000 - now.began), 1)}` : "",
    );
    const line = now.lines.at(-1);
    const head = h(
      "div",
      { class: "head" },
      badge(now.exit === null ? "running" : now.exit === 0 ? "success" : "failed"),
      h("code", null, now.command),
      since,
      now.exit === null ? stop : h("button", { onclick: () => item.remove() }, "Dismiss"),
    );
    show(item, head, now.exit === null ? line && h("p", { class: "quiet line" }, line) : shown(now)[0]);
  };
  const again = async () => {
    try {
      const now = await ask(`commands/${command.id}`);
      update(now);
      if (now.exit !== null) return follow();
    } catch {
      // the server is gone; what follows the journal says so
    }
    return setTimeout(again, 1000);
  };
  update(command);
  bar.append(item);
  setTimeout(again, 500);
}

ask("commands").then(
  (running) => running.forEach(followCommand),
  () => {},
);
