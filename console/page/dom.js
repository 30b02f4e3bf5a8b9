// ---- words, elements, and parts that are drawn again on their own
let language = 'en_US';
const locale = () => language.replace('_', '-');
const known = name => name in WORDS[language];
const word = (name, ...values) => (WORDS[language][name] ?? name).replace(/\{(\d)\}/g, (_, i) => values[i]);
const counted = (name, number, ...values) => word(number === 1 ? `${name}_one` : name, number, ...values);
const local = texts => texts?.[language] ?? texts?.en_US ?? '';
const when = seconds => new Date(seconds * 1000).toLocaleString(locale(),
  { month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', second: '2-digit' });
const figure = value => value === null || value === undefined ? '–' : Number(value).toFixed(3);
const pause = ms => new Promise(done => setTimeout(done, ms));
const flat = children => children.flat(Infinity).filter(child => child !== null && child !== undefined && child !== false && child !== '');
const panel = document.querySelector('main');

// An element of a tag with properties and children; texts are only ever set as texts.
function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name in element && !['list', 'role', 'form'].includes(name)) element[name] = value;
    else if (value !== undefined && value !== null) element.setAttribute(name, value);
  }
  element.append(...flat(children));
  return element;
}

// New children in an element. What has the focus keeps it and its caret, what is unfolded stays so, both by their ids.
function redraw(element, ...children) {
  const held = document.activeElement, inside = element !== held && element.contains(held);
  const caret = inside && held.selectionStart !== undefined ? [held.selectionStart, held.selectionEnd] : null;
  const unfolded = [...element.querySelectorAll('details[open][id]')].map(details => details.id);
  element.replaceChildren(...flat(children));
  unfolded.map(id => document.getElementById(id)).forEach(details => { if (details) details.open = true; });
  if (!inside) return;
  const again = held.id && document.getElementById(held.id) || element.closest('dialog') || panel;
  again.focus({ preventScroll: true });
  if (caret?.[0] != null && again.setSelectionRange) try { again.setSelectionRange(...caret); } catch { /* a number's box has no caret */ }
}

const parts = {};
// A part of the page that `again(id)` draws anew, whatever else is being typed.
function part(id, render) {
  const element = h('div', { id }, render());
  parts[id] = () => { if (element.isConnected) redraw(element, render()); };
  return element;
}
const again = id => parts[id]?.();

// A button whose focus outlives a redraw. One that can't be used now stays where it is and does nothing.
const button = (id, text, onclick, { kind = '', off = false, ...rest } = {}) => h('button',
  { type: 'button', id, className: kind, 'aria-disabled': off ? 'true' : null, onclick: off ? () => {} : onclick, ...rest }, text);
const notice = (text, kind = 'bad') => h('p', { className: kind, role: kind === 'bad' ? 'alert' : 'status' }, text);
const waiting = text => h('div', { role: 'status' }, h('p', { className: 'muted' }, text), h('progress', {}));
const warnings = notes => notes.map(note => h('p', { className: 'dim' }, `! ${note}`));
const labelled = (id, text, box, ...below) => h('div', { className: 'field' }, h('label', { htmlFor: id }, text), box, below);
const option = (value, text, chosen) => h('option', { value, selected: value === chosen }, text);

// The page is in a sandbox without a clipboard of its own; what is selected can be copied.
function copy(text, event) {
  const box = h('textarea', { value: text, style: 'position:fixed;opacity:0' }), button = event.currentTarget;
  (button.closest('dialog') ?? document.body).append(box);
  box.select();
  const done = document.execCommand('copy');
  box.remove(); button.focus();
  button.textContent = word(done ? 'copied' : 'not_copied');
}
const copier = (id, text) => button(id, word('copy'), event => copy(text, event), { kind: 'small' });

// A failure: its kind in the user's words, what to do, and the plugin's own text below, which is English.
const headline = kind => word(known(`${kind}_do`) ? kind : 'Error');
const remedy = ({ kind, error }, id, plain = text => text) => [h('p', {}, word(known(`${kind}_do`) ? `${kind}_do` : 'Error_do')),
  error ? h('p', { className: 'detail' }, plain(error), ' ', copier(`${id}-copy`, error)) : null];
const failure = (told, id, plain) => h('div', { className: 'failure', role: 'alert' }, h('strong', { className: 'bad' }, headline(told.kind)), remedy(told, id, plain));

// The user's choice in a dialog of the page's own, since a sandbox has no confirm().
function confirmed(text, yes) {
  const dialog = document.getElementById('confirm');
  return new Promise(done => {
    const close = answer => { dialog.close(); done(answer); };
    dialog.replaceChildren(h('p', {}, text), h('div', { className: 'row end' },
      button('confirm-no', word('cancel'), () => close(false)), button('confirm-yes', yes, () => close(true), { kind: 'danger' })));
    dialog.oncancel = event => { event.preventDefault(); close(false); };
    dialog.showModal();
  });
}
