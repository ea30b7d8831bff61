// Values as people read them, in the project's time zone.

const clocks = {};

function formatter(options) {
  const key = JSON.stringify(options);
  if (!clocks[key]) {
    try {
      clocks[key] = new Intl.DateTimeFormat("en-GB", { timeZone: site.index.timezone, hourCycle: "h23", ...options });
    } catch {
      clocks[key] = new Intl.DateTimeFormat("en-GB", { timeZone: "UTC", hourCycle: "h23", ...options });
    }
  }
  return clocks[key];
}

function fields(unix, options) {
  return Object.fromEntries(
    formatter(options)
      .formatToParts(new Date(unix * 1000))
      .map((part) => [part.type, part.value]),
  );
}

const DAY_FIELDS = { year: "numeric", month: "2-digit", day: "2-digit" };
const MINUTE_FIELDS = { ...DAY_FIELDS, hour: "2-digit", minute: "2-digit" };

/** 2025-01-31 06:00 */
function clock(unix) {
  const at = fields(unix, MINUTE_FIELDS);
  return `${at.year}-${at.month}-${at.day} ${at.hour}:${at.minute}`;
}

/** 06:00, or 31 Jan */
function shortClock(unix, span) {
  const at = fields(unix, { month: "short", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit" });
  if (span > 86400 * 3) return `${at.day} ${at.month}`;
  if (span > 86400) return `${at.day} ${at.month} ${at.hour}:${at.minute}`;
  return span > 300 ? `${at.hour}:${at.minute}` : `${at.hour}:${at.minute}:${at.second}`;
}

/** How long ago that was, or how soon it is, as of now. */
function ago(unix) {
  const seconds = Date.now() / 1000 - unix;
  const length = duration(Math.abs(seconds), 1);
  return seconds >= 0 ? `${length} ago` : `in ${length}`;
}

/** 2 h 5 min */
function duration(seconds, parts = 2) {
  if (seconds < 1) return seconds <= 0 ? "0 s" : `${Math.round(seconds * 1000)} ms`;
  if (seconds < 10) return `${Math.round(seconds * 10) / 10} s`;
  const words = [];
  let left = Math.round(seconds);
  for (const [size, name] of [
    [86400, "d"],
    [3600, "h"],
    [60, "min"],
    [1, "s"],
  ]) {
    if (left >= size) {
      words.push(`${Math.floor(left / size)} ${name}`);
      left %= size;
    } else if (words.length) break;
    if (words.length === parts) break;
  }
  return words.join(" ");
}

const number = (value) => value.toLocaleString("en-US");
const plural = (count, noun) => `${number(count)} ${noun}${count === 1 ? "" : "s"}`;

/** An instant that tells all of itself when pointed at. */
function moment(unix, { relative = false } = {}) {
  if (unix === undefined || unix === null) return h("span", { class: "quiet" }, "–");
  const text = clock(unix);
  const iso = new Date(unix * 1000).toISOString().replace(".000", "");
  return h(
    "time",
    { datetime: iso, title: `${text} ${site.index.timezone}, ${ago(unix)}` },
    relative ? ago(unix) : text,
  );
}

const unixOf = (iso) => Math.floor(Date.parse(iso) / 1000);
