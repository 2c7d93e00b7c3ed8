// What is wrong with a page for those who do not see it, see little, or have a small screen.
// Evaluated in the page; returns complaints. The contrast is that of WCAG 2.2, 1.4.3 (4.5 : 1).
(() => {
  const complaints = [];
  const visible = (e) => e.getClientRects().length > 0;
  const label = (e) => `${e.tagName} #${e.id} "${(e.textContent || '').trim().slice(0, 30)}"`;

  // Every control has a name that is seen, and every reference leads somewhere.
  for (const e of document.querySelectorAll('input, select, textarea, button, summary, a')) {
    const named = e.labels?.length ? [...e.labels] : [e];
    const said = named.map((one) => one.textContent.trim()).join('');
    if (said === '') complaints.push(`no name: ${label(e)}`);
  }
  for (const name of ['aria-describedby', 'aria-labelledby', 'for']) {
    for (const e of document.querySelectorAll(`[${name}]`)) {
      const named = e.getAttribute(name).split(' ').map((id) => document.getElementById(id));
      if (named.includes(null)) complaints.push(`${name} of ${label(e)}`);
    }
  }
  const ids = [...document.querySelectorAll('[id]')].map((e) => e.id);
  if (new Set(ids).size !== ids.length) complaints.push('an id stands twice');

  // Landmarks, one title, headings without a gap, tables with heads, lists of items.
  for (const name of ['header', 'main', 'footer', 'h1']) {
    if (document.querySelectorAll(name).length !== 1) complaints.push(`not one ${name}`);
  }
  let level = 0;
  for (const e of document.querySelectorAll('h1, h2, h3, h4, h5, h6')) {
    if (Number(e.tagName[1]) > level + 1) complaints.push(`heading skips a level: ${label(e)}`);
    level = Number(e.tagName[1]);
  }
  for (const e of document.querySelectorAll('table')) {
    if (!e.caption) complaints.push('a table has no caption');
  }
  for (const e of document.querySelectorAll('ul, ol')) {
    if ([...e.children].some((c) => c.tagName !== 'LI')) complaints.push('a list has no items');
  }
  const { lang, scrollWidth } = document.documentElement;
  if (!lang || document.title === '') complaints.push('no language or title');

  // Nothing sticks out to the right, whatever the width.
  if (scrollWidth > innerWidth) complaints.push(`scrolls: ${scrollWidth} > ${innerWidth}`);
  for (const e of document.querySelectorAll('body *')) {
    const { right } = e.getBoundingClientRect();
    if (visible(e) && right > innerWidth + 0.5) complaints.push(`sticks out: ${label(e)}`);
  }

  // Controls are large enough for a finger, WCAG 2.2, 2.5.8 (24 by 24).
  for (const e of document.querySelectorAll('input, select, textarea, button, summary')) {
    const { width, height } = e.getBoundingClientRect();
    if (visible(e) && (width < 24 || height < 24)) complaints.push(`small: ${label(e)}`);
  }

  const channels = (color) => color.match(/[\d.]+/g).map(Number);
  const linear = (c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4);
  const luminance = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const background = (e) => {
    for (let at = e; at; at = at.parentElement) {
      const color = channels(getComputedStyle(at).backgroundColor);
      if (color.length === 3 || color[3] > 0) return color;
    }
    return [255, 255, 255];
  };
  let lowest = 21;
  for (const e of document.querySelectorAll('body *')) {
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim() !== '');
    if (!own || !visible(e) || ['SCRIPT', 'STYLE', 'NOSCRIPT'].includes(e.tagName)) continue;
    const [a, b] = [luminance(channels(getComputedStyle(e).color)), luminance(background(e))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    lowest = Math.min(lowest, ratio);
    if (ratio < 4.5) complaints.push(`contrast ${ratio.toFixed(2)}: ${label(e)}`);
  }
  if (lowest > 20) complaints.push('no contrast was measured');
  return complaints;
})()
