// Wires the page: language, file, form.

import { hasCrypto } from './crypto.mjs';
import { byId } from './dom.mjs';
import { showParameters, verifyForm } from './form.mjs';
import { MAX_BYTES } from './json.mjs';
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

async function textOf(files) {
  insist(files.length === 1, 'one_file');
  insist(files[0].size <= MAX_BYTES, 'large', files[0].name, MAX_BYTES);
  const bytes = await files[0].arrayBuffer();
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    if (error instanceof TypeError) throw new Refusal('utf8', files[0].name);
    throw error;
  }
}

/** The report of a text, with what the reader has beside it. */
const verifyGiven = (text) =>
  verifyText(text, byId('kept').value, { keys: byId('keys').value, own: byId('own').value });

const checkFiles = (files) => run(async () => verifyGiven(await textOf(files)));

function wireFile() {
  byId('file').addEventListener('change', ({ target }) => {
    const files = [...target.files];
    target.value = ''; // the same file again is a change again
    if (files.length > 0) checkFiles(files);
  });
  byId('file-form').addEventListener('submit', (event) => {
    event.preventDefault();
    run(() => verifyGiven(byId('text').value));
  });
  document.addEventListener('dragover', (event) => event.preventDefault());
  document.addEventListener('drop', (event) => {
    if (event.dataTransfer.files.length === 0) return; // text, which the browser puts where it fell
    event.preventDefault();
    checkFiles([...event.dataTransfer.files]);
  });
}

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
  showAgain();
}

function start() {
  const select = byId('language');
  select.value = preferredLanguage(navigator.languages);
  select.addEventListener('change', () => speak(select.value));
  byId('no-crypto').hidden = hasCrypto();
  wireFile();
  wireRound();
  speak(LANGUAGES.includes(select.value) ? select.value : 'en');
}

start();
