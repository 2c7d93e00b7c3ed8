// Wires the page: language, file, form.

import { hasCrypto } from './crypto.mjs';
import { byId } from './dom.mjs';
import { showParameters, verifyForm } from './form.mjs';
import { showGiven, wireGiven } from './given.mjs';
import { Refusal, insist } from './refusal.mjs';
import { LANGUAGES, preferredLanguage, t, useLanguage } from './texts.mjs';
import { verifyText } from './verify.mjs';
import { showBusy, showFailure, showNothing, showRefusal, showReport } from './view.mjs';

let showAgain = showNothing; // what stands in the result, for another language
let running = 0; // the newest check; an older one that ends later is not shown

/** Runs a check and shows how it ended: a report, a refusal by name, or a failure of ours. */
async function run(check) {
  running += 1;
  const mine = running;
  const result = byId('result');
  result.setAttribute('aria-busy', 'true');
  byId('subject').textContent = '';
  showBusy();
  const show = await ending(check);
  if (mine !== running) return;
  result.setAttribute('aria-busy', 'false');
  showAgain = () => attempt(show);
  showAgain();
  result.scrollIntoView({ block: 'start' });
}

/** Shows something whole, or that the page failed: never the half of a report. */
function attempt(show) {
  try {
    show();
  } catch (error) {
    console.error(error);
    showFailure();
  }
}

async function ending(check) {
  try {
    insist(hasCrypto(), 'no_crypto');
    const report = await check();
    return () => showReport(report);
  } catch (error) {
    if (error instanceof Refusal) return () => showRefusal(error);
    console.error(error);
    return showFailure;
  }
}

/** The report of a text, with what the reader has beside it. */
const verifyGiven = (text) =>
  verifyText(text, byId('kept').value, { keys: byId('keys').value, own: byId('own').value });

/** Checks what was given; the result says which file it is about. */
const checkGiven = (subjectOf) => run(async () => {
  const { name, text } = await subjectOf();
  byId('subject').textContent = name;
  return verifyGiven(text);
});

function wireRound() {
  byId('game').addEventListener('change', showParameters);
  byId('round-form').addEventListener('submit', (event) => {
    event.preventDefault();
    run(verifyForm);
  });
}

/** Puts a language in force: the page's own texts, and the result once more. */
function speak(language) {
  useLanguage(language);
  document.documentElement.lang = language;
  document.title = t('title');
  for (const element of document.querySelectorAll('[data-t]')) {
    element.textContent = t(element.dataset.t);
  }
  showParameters();
  showGiven();
  showAgain();
}

function start() {
  const select = byId('language');
  select.value = preferredLanguage(navigator.languages);
  select.addEventListener('change', () => speak(select.value));
  byId('no-crypto').hidden = hasCrypto();
  wireGiven(checkGiven);
  wireRound();
  speak(LANGUAGES.includes(select.value) ? select.value : 'en');
  byId('not-started').hidden = true;
  for (const element of document.querySelectorAll('.started')) element.hidden = false;
}

start();
