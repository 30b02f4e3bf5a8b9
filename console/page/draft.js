// ---- a form that isn't saved yet: LangBot loads everything anew where the user changes the language
const KEEP = 700, SOON = 30;
let sent = null;

// What the plugin keeps of a form in its memory; a key that was typed isn't among it.
const draftOf = () => form && snapshot() !== form.clean ? { original: form.original, name: form.name, values: { ...form.values, api_key: undefined }, question: form.question } : null;
function keepDraft() {
  const text = JSON.stringify(draftOf());
  if (!ready || text === sent || (sent === null && text === 'null')) return;
  sent = text;
  if (overview && text === 'null') overview.draft = null;
  langbot.api('/draft', { draft: JSON.parse(text) }).catch(() => { sent = null; });
}
setInterval(keepDraft, KEEP);

function resume({ draft }) {
  const values = { ...draft.values };
  sent = '';
  edit({ name: draft.original?.name ?? '', settings: draft.original?.settings ?? { backend: values.backend }, has_key: draft.original?.has_key }, draft.original, { name: draft.name, values, question: draft.question, resumed: true });
}
// Right after the page was loaded anew the form goes on where it was; later it is offered.
const justLeft = kept => kept && overview.now - kept.at < SOON;
const draftCard = kept => kept ? h('section', { className: 'card' }, h('p', {}, word('draft', kept.draft.name || '–', when(kept.at))),
  h('div', { className: 'row' }, button('resume', word('go_on'), () => resume(kept)), button('discard', word('discard'), async () => { await ask('/draft', { draft: null }); overview.draft = null; draw(); }, { kind: 'danger' }))) : null;
