// What cannot be checked, by name: every refusal has a text in each language (`refusal.CODE`).

/** The file or the form is not of a form that can be checked. Nothing was compared. */
export class Refusal extends Error {
  /**
   * @param {string} code which text says it
   * @param {string} field what it is about, such as `draws[2].seeds[0]`
   * @param {string|number} limit the number or value that the text names, if it names one
   */
  constructor(code, field = '', limit = '') {
    super(`${code} ${field} ${limit}`.trim());
    this.code = code;
    this.field = field;
    this.limit = String(limit);
  }
}

export function insist(condition, code, field, limit) {
  if (!condition) throw new Refusal(code, field, limit);
}
