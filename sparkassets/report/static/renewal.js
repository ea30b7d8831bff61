// Brings what is shown up to date in place, so that focus, scrolling, and what was typed or unfolded stay.
//
// An element may say how: by `renew(fresh)`, which takes over what its newly made twin holds, or by `stamp`, a text of
// all that it was made of, by which it stays as it is or is replaced as a whole.

/** Makes `old` show what `fresh` shows; `fresh` may be taken apart for it. */
function renew(old, fresh) {
  if (old.renew && fresh.renew) return old.renew(fresh);
  if (old.stamp !== undefined && old.stamp === fresh.stamp) return undefined;
  if (old.nodeName !== fresh.nodeName || old.renew || fresh.renew || old.stamp !== fresh.stamp)
    return old.replaceWith(fresh);
  if (old.nodeType === Node.TEXT_NODE) return old.data === fresh.data ? undefined : (old.data = fresh.data);
  if (old.listens || fresh.listens) return old.isEqualNode(fresh) ? undefined : old.replaceWith(fresh);
  for (const { name } of [...old.attributes])
    if (!fresh.hasAttribute(name) && name !== "open") old.removeAttribute(name);
  for (const { name, value } of fresh.attributes) {
    if (old.getAttribute(name) === value) continue;
    if (name === "style")
      old.style.cssText = value; // the page's policy allows no such attribute to be set
    else old.setAttribute(name, value);
  }
  return renewChildren(old, [...fresh.childNodes]);
}

/** What tells children of one element apart: an id, else what a row or a section is about. */
function keyOfNode(node) {
  if (node.nodeType !== Node.ELEMENT_NODE) return node.nodeName;
  const about = { TR: "a[href]", SECTION: "h2", LI: "a[href]" }[node.nodeName];
  const found = about && node.querySelector(about);
  return `${node.nodeName} ${node.id || node.dataset.node || (found && (found.getAttribute("href") || found.textContent)) || ""}`;
}

/** Keeps the children that are wanted again, in their order, and adds and removes the others. */
function renewChildren(parent, wanted) {
  const known = new Map();
  for (const child of parent.childNodes) {
    const key = keyOfNode(child);
    if (!known.has(key)) known.set(key, []);
    known.get(key).push(child);
  }
  const pairs = wanted.map((fresh) => [known.get(keyOfNode(fresh))?.shift(), fresh]);
  for (const rest of known.values()) for (const child of rest) child.remove();
  let place = parent.firstChild;
  for (const [old, fresh] of pairs) {
    if (!old) parent.insertBefore(fresh, place);
    else if (old === place) {
      place = old.nextSibling;
      renew(old, fresh);
    } else {
      parent.insertBefore(old, place);
      renew(old, fresh);
    }
  }
}
