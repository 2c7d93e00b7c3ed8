// What is to be checked: a file that was chosen or dropped, or a text. The one that was given last
// is kept, so that it can be checked again with what the reader adds beside it.

import { byId } from './dom.mjs';
import { MAX_BYTES } from './json.mjs';
import { Refusal, insist } from './refusal.mjs';
import { t } from './texts.mjs';
import { sizeText } from './view.mjs';

// A field of text lays out every line of what is in it: 50 MB hold a browser up for a minute.
const LONGEST_IN_FIELD = 2 ** 20;

let given = null; // { name, text }, name empty for a text that is too long for the field

/** Says beside the form what was given last, in the language in force. */
export function showGiven() {
  byId('given').hidden = given === null;
  byId('given').textContent = given === null ? '' : textOfGiven(given);
}

const textOfGiven = ({ name, text }) =>
  (name === '' ? t('given.text', { size: sizeText(text.length) }) : t('given.file', { name }));

function keep(subject) {
  given = subject;
  if (subject !== null) byId('text').value = '';
  showGiven();
}

/** What the form is about: what stands in its field, or else what was given before. */
function ofForm() {
  const text = byId('text').value;
  if (text !== '') keep(null);
  return given ?? { name: '', text };
}

async function readFiles(files) {
  keep(null);
  byId('text').value = ''; // what was there is not what the result will be about
  insist(files.length === 1, 'one_file');
  const [file] = files;
  insist(file.size <= MAX_BYTES, 'large', file.name, MAX_BYTES);
  keep({ name: file.name, text: decoded(await bytesOf(file), file.name) });
  return given;
}

/** A folder is given like a file, and one that was moved meanwhile: neither has bytes. */
async function bytesOf(file) {
  try {
    return await file.arrayBuffer();
  } catch (error) {
    if (error instanceof DOMException) throw new Refusal('unreadable', file.name);
    throw error;
  }
}

function decoded(bytes, name) {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    if (error instanceof TypeError) throw new Refusal('utf8', name);
    throw error;
  }
}

/** Wires all ways in; `check` is called with a function that gets the subject, or refuses. */
export function wireGiven(check) {
  const takeFiles = (files) => check(() => readFiles(files));
  const takeText = (text) => {
    if (text.length > LONGEST_IN_FIELD) keep({ name: '', text });
    else byId('text').value = text;
    check(async () => ofForm());
  };
  byId('file').addEventListener('change', ({ target }) => {
    const files = [...target.files];
    target.value = ''; // the same file again is a change again
    if (files.length > 0) takeFiles(files);
  });
  byId('file-form').addEventListener('submit', (event) => {
    event.preventDefault();
    check(async () => ofForm());
  });
  byId('text').addEventListener('paste', (event) => {
    const text = event.clipboardData.getData('text/plain');
    if (text.length <= LONGEST_IN_FIELD) return; // the browser puts it where it belongs
    event.preventDefault();
    takeText(text);
  });
  wireDrop(takeFiles, takeText);
}

const isField = (target) => ['INPUT', 'TEXTAREA'].includes(target.tagName);

/** Anything dropped anywhere, or the browser would leave the page to show it. */
function wireDrop(takeFiles, takeText) {
  document.addEventListener('dragover', (event) => event.preventDefault());
  document.addEventListener('drop', (event) => {
    const { files } = event.dataTransfer;
    const text = event.dataTransfer.getData('text/plain');
    const fits = text.length <= LONGEST_IN_FIELD;
    if (files.length === 0 && fits && isField(event.target)) return; // it goes into that field
    event.preventDefault();
    if (files.length > 0) takeFiles([...files]);
    else if (text !== '') takeText(text);
  });
}
