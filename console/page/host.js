// ---- what the plugin answers
const LONGEST = 10 * 60 * 1000;
const unreachable = () => ({ ok: false, kind: 'Unreachable', error: '', fields: [] });

// LangBot hands every rejection over without a text: no rights, or a plugin that restarts; the second passes.
async function ask(endpoint, body = {}) {
  try { return await langbot.api(endpoint, body) ?? unreachable(); } catch { await pause(2000); }
  try { return await langbot.api(endpoint, body) ?? unreachable(); } catch { return unreachable(); }
}

// A call that is followed while it runs and can be stopped. Its answer counts also where LangBot gave up waiting for it.
function watched(endpoint, body, seen) {
  const call = Array.from(crypto.getRandomValues(new Uint32Array(4)), part => part.toString(16)).join('-');
  const run = { began: Date.now(), steps: [], columns: [], trying: null, answer: null, stop: () => langbot.api('/stop', { call }).catch(() => {}) };
  const follow = async () => {
    let answer = null, lost = false;
    const straight = langbot.api(endpoint, { ...body, call }).then(found => { answer = found ?? unreachable(); }, () => { lost = true; });
    while (Date.now() - run.began < LONGEST) {
      await (lost ? pause(500) : Promise.race([straight, pause(500)]));
      if (answer) return answer;
      const told = await langbot.api('/progress', { call }).catch(() => null);
      if (answer) return answer;
      if (told?.known) Object.assign(run, { steps: told.steps, columns: told.columns, trying: told.trying });
      else if (lost) return unreachable();
      if (told?.answer) return told.answer;
      seen();
    }
    return unreachable();
  };
  run.done = follow().then(answer => { run.answer = answer; return answer; });
  return run;
}

// How long a run has taken, ticking; its steps stand around it.
const clock = run => h('span', { className: 'clock', 'data-began': run.began }, word('seconds', Math.floor((Date.now() - run.began) / 1000)));
setInterval(() => document.querySelectorAll('.clock').forEach(element => {
  element.textContent = word('seconds', Math.floor((Date.now() - Number(element.dataset.began)) / 1000));
}), 500);
const running = (run, text, id) => h('div', { className: 'running', role: 'status' },
  h('div', { className: 'row spread' }, h('span', {}, text, ' ', clock(run)), button(`${id}-stop`, word('stop'), run.stop)),
  h('progress', {}), run.trying ? h('p', { className: 'dim' }, word('trying', run.trying.tries, run.trying.text)) : null);
