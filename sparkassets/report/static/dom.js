// Elements from values: text is only ever set as text, so nothing that is shown can become markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) {
      element.addEventListener(name.slice(2), value);
      element.listens = true;
    } else if (name === "style") for (const [key, each] of Object.entries(value)) element.style.setProperty(key, each);
    else if (name === "data") Object.assign(element.dataset, value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(
    ...children
      .flat(Infinity)
      .filter((child) => child !== undefined && child !== null && child !== false && child !== ""),
  );
  return element;
}

/** An HTML element; children are elements or text. */
function h(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** An SVG element. */
function svg(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/** Puts children in the place of all that is in an element. */
function show(element, ...children) {
  element.replaceChildren();
  return fill(element, null, children);
}

/** The address of a page: parts of its path, and what follows the question mark. */
function address(parts, query) {
  const path = parts.map(encodeURIComponent).join("/");
  const given = Object.entries(query || {}).filter(
    ([, value]) => value !== undefined && value !== "" && value !== null,
  );
  const search = given.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&");
  return `#/${path}${search ? `?${search}` : ""}`;
}

/** What an address says: {parts, query}. */
function read(hash) {
  const [path, search = ""] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const safely = (text) => {
    try {
      return decodeURIComponent(text);
    } catch {
      return text;
    }
  };
  const query = {};
  for (const pair of search.split("&").filter(Boolean)) {
    const [name, value = ""] = pair.split(/=(.*)/s);
    query[safely(name)] = safely(value);
  }
  return { parts: path.split("/").filter(Boolean).map(safely), query };
}

/** Calls back once the browser is idle for a moment after the last call. */
function later(work, wait = 60) {
  let timer = 0;
  return (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...args), wait);
  };
}
