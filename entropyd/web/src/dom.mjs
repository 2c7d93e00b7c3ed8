// Elements. Text from anywhere becomes text nodes: nothing is ever parsed as HTML.

/** An element with attributes and children; children are elements or text, null is left out. */
export function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) {
    if (value !== null) element.setAttribute(attribute, value);
  }
  element.append(...children.flat().filter((child) => child !== null));
  return element;
}

export const byId = (id) => document.getElementById(id);

/** A folded part that is made when it is first opened: long ones cost nothing until then. */
export function folded(summary, make) {
  const details = el('details', {}, el('summary', {}, summary));
  details.addEventListener('toggle', () => details.append(...make()), { once: true });
  return details;
}

/**
 * The first items of a long list, and a button for more of them.
 *
 * @param {Element} holder what the items are put in
 * @param {number} total how many there are
 * @param {(i: number) => Element} make the element of item i
 * @param {{more: Function, shown: Function, step?: number}} says the texts of the button
 */
export function paged(holder, total, make, says) {
  const step = says.step ?? 100;
  let shown = 0;
  const button = el('button', { type: 'button', class: 'more' });
  const note = el('span', { class: 'quiet' });
  const tail = el('p', { class: 'paged' }, button, note);
  const show = () => {
    const end = Math.min(total, shown + step);
    const first = shown;
    for (; shown < end; shown += 1) holder.append(make(shown));
    button.textContent = says.more(Math.min(step, total - shown));
    note.textContent = says.shown(shown, total);
    tail.hidden = total <= step;
    button.hidden = shown === total;
    return holder.children[holder.children.length - (shown - first)];
  };
  button.addEventListener('click', () => {
    const first = show();
    if (button.hidden) first.setAttribute('tabindex', '-1');
    if (button.hidden) first.focus();
  });
  show();
  return [holder, tail];
}
