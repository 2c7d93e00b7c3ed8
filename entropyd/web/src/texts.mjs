// All texts in one table, and the language in force.

import { HAND_TEXTS } from './texts_hand.mjs';
import { PAGE_TEXTS } from './texts_page.mjs';
import { REFUSAL_TEXTS } from './texts_refusal.mjs';
import { REPORT_TEXTS } from './texts_report.mjs';
import { WHY_TEXTS } from './texts_why.mjs';

export const LANGUAGES = ['en', 'pl', 'uk'];
export const TEXTS = {
  ...PAGE_TEXTS, ...REPORT_TEXTS, ...HAND_TEXTS, ...WHY_TEXTS, ...REFUSAL_TEXTS,
};

let language = 0;

/** The first of the browser's languages that the page has; English if there is none. */
export function preferredLanguage(wanted) {
  const short = wanted.map((tag) => tag.slice(0, 2).toLowerCase());
  return short.find((tag) => LANGUAGES.includes(tag)) ?? 'en';
}

export function useLanguage(name) {
  language = LANGUAGES.indexOf(name);
}

/** The text of a key, with its {places} filled in. An unknown key is a mistake of ours. */
export function t(key, values = {}) {
  if (!Object.hasOwn(TEXTS, key)) throw new Error(`there is no text ${key}`);
  return TEXTS[key][language].replace(/\{(\w+)\}/g, (_, name) => String(values[name]));
}
