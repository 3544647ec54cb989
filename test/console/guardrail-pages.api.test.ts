import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createAgent, createIntegration, deliver, findDelivery, startConsole } from '../fixtures/console-platform.ts';
import { addMember } from '../fixtures/users.ts';

const p = await startConsole();
const path = `${p.base}/guardrails`;
const empty = await p.open(path);
const agent = await createAgent(p, 'Reviewer');
const integration = await createIntegration(p, agent);
const RULES = [
  { name: 'no z', kind: 'json_path', options: { path: '$.z' }, action: 'block' },
  { name: 'no keys', kind: 'pattern', options: { pattern: 'KEY-\\d+' }, action: 'redact' },
];
await p.send('PUT', `${p.tenant}/guardrails`, { body: RULES });
await p.send('PUT', `${p.tenant}/redaction-patterns`, { body: [{ pattern: 'CUST-\\d{6}', tag: 'customer number' }] });
for (const body of [{ z: 1 }, { text: 'TOKEN-1 TOKEN-2' }, { a: 1 }]) await deliver(p, integration, 'push', body);
await findDelivery(p, 'blocked');

const FORM = `/console/run/tryGuardrails?tenant_id=${p.tenant_id}&return_to=${encodeURIComponent(path)}`;
const unescaped = (text: string): string =>
  text.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');

/** Returns the fields of a page's form as a browser would send them if no checkbox were selected. */
const fieldsIn = (text: string): Record<string, string> => {
  const form = /<form[^>]*class="(?:card form(?: review)?|form with-panel)"[\s\S]*?<\/form>/.exec(text)![0];
  const fields: Record<string, string> = {};
  for (const [tag] of form.matchAll(/<input[^>]*>/g)) {
    const [name, value, type] = ['name', 'value', 'type'].map((one) => new RegExp(` ${one}="([^"]*)"`).exec(tag)?.[1]);
    if (name && (type === 'radio' ? / checked/.test(tag) : type !== 'checkbox')) fields[unescaped(name)] = unescaped(value ?? '');
  }
  for (const [, name, content] of form.matchAll(/<textarea[^>]* name="([^"]*)"[^>]*>\n?([\s\S]*?)<\/textarea>/g))
    fields[name!] = unescaped(content!);
  for (const [, name, content] of form.matchAll(/<select[^>]* name="([^"]*)"[^>]*>([\s\S]*?)<\/select>/g)) {
    const chosen = /<option value="([^"]*)" selected/.exec(content!)?.[1];
    if (chosen) fields[name!] = unescaped(chosen);
  }
  return fields;
};

const listed = async () => (await p.send('GET', `${p.tenant}/guardrails`)).body as typeof RULES;

test('the page lists the guardrail rules in their order and the redaction patterns; if there are none, it says what they would do', async () => {
  assert.is(empty.status, 200);
  assert.match(empty.text, /data-empty[\s\S]+No rules of your own[\s\S]+There are no redaction patterns/);
  const { text } = await p.open(path);
  assert.match(text, /data-id="no z"[\s\S]+\$\.z[\s\S]+data-id="no keys"[\s\S]+KEY-\\d\+/);
  assert.match(text, /data-kind="redaction-pattern" data-id="customer number"[\s\S]+CUST-\\d\{6\}/);
});

test('the form for a trial of guardrails contains the present rules, shows what changed rules would do, and records nothing', async () => {
  const fields = fieldsIn((await p.open(FORM)).text);
  assert.equal(
    [fields['/rules/0/name'], fields['/rules/1/options/pattern'], fields['/redaction_patterns/0/tag']],
    ['no z', 'KEY-\\d+', 'customer number'],
  );
  fields['/rules/0/options/path'] = '$.a';
  fields['/rules/1/options/pattern'] = 'TOKEN-\\d+';
  const events = p.log.events.length;
  const { status, text } = await p.submit('/console/run/tryGuardrails', fields);
  assert.is(status, 200, text);
  assert.match(
    text,
    /data-trial[\s\S]+3 deliveries tried[\s\S]+would block 1 \(were accepted\)[\s\S]+would pass 1 \(were blocked\)[\s\S]+would redact 2 hits/,
  );
  const rows = [...text.matchAll(/data-kind="trial-row"[^>]+data-now="(\w+)" data-then="(\w+)"/g)].map(([, now, then]) => `${then} ${now}`);
  assert.equal(rows.toSorted(), ['block pass', 'pass block', 'pass redact']);
  for (const rule of ['no z', 'no keys', 'redaction']) assert.match(text, new RegExp(`data-kind="rule-time" data-id="${rule}"`));
  assert.is(p.log.events.length, events);
  assert.equal(await listed(), RULES);
});

test('a pattern that takes too long is refused with an error at its field, and the input is kept', async () => {
  const fields = { ...fieldsIn((await p.open(FORM)).text), '/rules/1/options/pattern': '(a{1000}){1000}' };
  const { status, text } = await p.submit('/console/run/tryGuardrails', fields);
  assert.is(status, 422);
  assert.match(text, /data-pointer="\/rules\/1\/options\/pattern"[\s\S]*?\(a\{1000\}\)\{1000\}[\s\S]*?class="field-error"/);
});

test('changed rules and patterns can be saved from the form of their trial, unless somebody else has changed them in the meantime', async () => {
  const { text } = await p.open(FORM);
  assert.match(text, /name="_save" value="1"[^>]*>Save these rules and patterns/);
  const fields = { ...fieldsIn(text), '/rules/0/options/path': '$.b', '/redaction_patterns/0/tag': 'number', _save: '1' };
  const saved = await p.submit('/console/run/tryGuardrails', fields);
  assert.is(saved.status, 303, saved.text);
  assert.ok(saved.headers.get('location')!.startsWith(`${path}?after=`));
  const changed = [{ ...RULES[0]!, options: { path: '$.b' } }, RULES[1]!];
  const patterns = async () => (await p.send('GET', `${p.tenant}/redaction-patterns`)).body;
  assert.equal(await listed(), changed);
  assert.equal(await patterns(), [{ pattern: 'CUST-\\d{6}', tag: 'number' }]);
  const late = await p.submit('/console/run/tryGuardrails', {
    ...fields,
    '/rules/0/options/path': '$.c',
    '/redaction_patterns/0/tag': 'x',
  });
  assert.is(late.status, 412);
  assert.equal(await listed(), changed);
  const again = await p.submit('/console/run/tryGuardrails', { ...fieldsIn(late.text), _save: '1' });
  assert.is(again.status, 303, 'the form has what was typed, and the new state of the rules');
  assert.equal([(await listed())[0]!.options, await patterns()], [{ path: '$.c' }, [{ pattern: 'CUST-\\d{6}', tag: 'x' }]]);
  await p.send('PUT', `${p.tenant}/guardrails`, { body: RULES });
});

test('if a pattern cannot be saved from the form of a trial, the error is at its field, and the rules are saved', async () => {
  const fields = {
    ...fieldsIn((await p.open(FORM)).text),
    '/redaction_patterns/0/pattern': '(',
    '/rules/0/options/path': '$.d',
    _save: '1',
  };
  const { status, text } = await p.submit('/console/run/tryGuardrails', fields);
  assert.is(status, 422);
  assert.match(text, /data-pointer="\/redaction_patterns\/0\/pattern"[\s\S]*?class="field-error"/);
  assert.equal((await listed())[0]!.options, { path: '$.d' });
  const mended = await p.submit('/console/run/tryGuardrails', { ...fieldsIn(text), '/redaction_patterns/0/pattern': 'x', _save: '1' });
  assert.is(mended.status, 303, mended.text);
  await p.send('PUT', `${p.tenant}/guardrails`, { body: RULES });
});

test('the forms of the rules and patterns show what they would do to past deliveries, and an error at its field', async () => {
  await p.send('PUT', `${p.tenant}/webhook-integrations/${integration}/guardrails`, {
    body: [{ name: 'no z', kind: 'json_path', options: { path: '$.a' }, action: 'block' }],
  });
  const link = (operation: string, id = '') => `/console/run/${operation}?tenant_id=${p.tenant_id}${id}`;
  for (const [operation, id, change, counts] of [
    ['replaceGuardrails', '', { '/0/options/path': '$.a' }, /would block 1 [\s\S]+would pass 1/],
    ['replaceIntegrationGuardrails', `&id=${integration}`, {}, /would block 1 [\s\S]+would pass 0/],
    ['replaceRedactionPatterns', '', { '/0/pattern': 'TOKEN-\\d' }, /would redact 2 hits/],
  ] as const) {
    const { text } = await p.open(link(operation, id));
    assert.match(text, /name="_preview"[^>]*>Try on the last seven days/, operation);
    const events = p.log.events.length;
    const tried = await p.submit(`/console/run/${operation}`, { ...fieldsIn(text), ...change, _preview: '1' });
    assert.is(tried.status, 200, tried.text);
    assert.match(tried.text, counts, operation);
    assert.match(tried.text, /data-kind="trial-row"[\s\S]*?<a[^>]*>[\s\S]*?push/, 'a row begins with the event');
    assert.is(p.log.events.length, events);
    const field = operation === 'replaceRedactionPatterns' ? '/0/pattern' : '/0/options/path';
    const refused = await p.submit(`/console/run/${operation}`, { ...fieldsIn(text), [field]: '(', _preview: '1' });
    assert.is(refused.status, 422, operation);
    assert.match(refused.text, new RegExp(`data-pointer="${field}"[\\s\\S]*?class="field-error"`), operation);
  }
});

const EDITOR = `/console/run/replaceGuardrails?tenant_id=${p.tenant_id}&return_to=${encodeURIComponent(path)}`;

test('the editor of rules says how often each rule applied in the last 24 hours, as the summary of the API does', async () => {
  const { body } = await p.send('GET', `${p.tenant}/guardrails/summary`);
  const { rules, deliveries, exact } = body as { rules: { rule: string; blocked: number }[]; deliveries: number; exact: boolean };
  assert.equal([rules.find(({ rule }) => rule === 'no z')?.blocked, deliveries, exact], [1, 3, true]);
  assert.match((await p.open(path)).text, /data-id="no z"[\s\S]+?data-label="Last 24 hours">1 blocked</);
  const { text } = await p.open(EDITOR);
  assert.match(text, /<summary>[\s\S]{0,400}no z: Block deliveries with a value at \$\.z[\s\S]{0,60}>1 blocked in 24 h</);
  assert.match(text, /no keys: Redact [\s\S]{0,80}>0 in 24 h</);
  const renamed = await p.submit('/console/run/replaceGuardrails', { ...fieldsIn(text), '/0/name': 'no y', _up: '/1' });
  assert.match(renamed.text, /no y: Block deliveries with a value at \$\.z<\/span>/);
  assert.match(renamed.text, /no keys: Redact [\s\S]{0,80}>0 in 24 h</);
  assert.match((body as { from: string }).from, /:00\.000Z$/);
  const other = await p.send('GET', `${p.tenant}/guardrails/summary?integration_id=c${'0'.repeat(24)}`);
  assert.equal((other.body as { rules: unknown[] }).rules, []);
});

test('rules are saved after a review, which says what changes and what the last seven days would have been', async () => {
  const { text } = await p.open(EDITOR);
  assert.match(text, /name="_review" value="1"[^>]*>Review and save</);
  await p.send('PUT', `${p.tenant}/redaction-patterns`, { body: [] });
  const fields = { ...fieldsIn(text), '/1/name': 'no tokens', '/1/options/pattern': 'TOKEN-\\d+', '/0/options/path': '$.a' };
  const review = await p.submit('/console/run/replaceGuardrails', { ...fields, _review: '1' });
  assert.is(review.status, 200, review.text);
  assert.match(
    review.text,
    /data-review="3"[\s\S]+Removed<\/strong> no keys:[\s\S]+Added<\/strong> no tokens:[\s\S]+Changed<\/strong> no z:/,
  );
  assert.match(review.text, /3 deliveries tried[\s\S]+would block 1 \(were accepted\)[\s\S]+would redact 2 hits[\s\S]+>Save the rules</);
  assert.equal(await listed(), RULES);
  const wrong = await p.submit('/console/run/replaceGuardrails', { ...fields, '/1/options/pattern': '(', _review: '1' });
  assert.is(wrong.status, 422);
  assert.match(wrong.text, /data-pointer="\/1\/options\/pattern"[\s\S]*?class="field-error"/);
  const again = await p.submit('/console/run/replaceGuardrails', { ...fieldsIn(review.text), _edit: '1' });
  assert.match(again.text, /no tokens: Redact[\s\S]+>Review and save</);
  assert.is((await p.submit('/console/run/replaceGuardrails', fieldsIn(review.text))).status, 303);
  assert.equal(
    (await listed()).map(({ name }) => name),
    ['no z', 'no tokens'],
  );
  await p.send('PUT', `${p.tenant}/guardrails`, { body: RULES });
});

test('rules that are edited below their review are reviewed again, also if only the end of a long pattern changes', async () => {
  const { text } = await p.open(EDITOR);
  const start = '(?:TOKEN|KEY)-'.repeat(10);
  const first = await p.submit('/console/run/replaceGuardrails', {
    ...fieldsIn(text),
    '/1/options/pattern': `${start}1`,
    _review: '1',
  });
  assert.match(first.text, /data-review="1"/);
  const second = await p.submit('/console/run/replaceGuardrails', { ...fieldsIn(first.text), '/1/options/pattern': `${start}2` });
  assert.is(second.status, 200);
  const shown = unescaped(/data-review="1"[\s\S]+?<\/ul>/.exec(second.text)![0]);
  assert.ok(shown.includes(`no keys: Pattern ${start}2 (before: KEY-\\d+)`), shown);
  assert.equal(await listed(), RULES);
  assert.is((await p.submit('/console/run/replaceGuardrails', fieldsIn(second.text))).status, 303);
  assert.is((await listed())[1]!.options.pattern, `${start}2`);
  await p.send('PUT', `${p.tenant}/guardrails`, { body: RULES });
});

test('a rule is tried on its own, and moves up, down and to where it was dragged', async () => {
  const fields = fieldsIn((await p.open(EDITOR)).text);
  const tried = await p.submit('/console/run/replaceGuardrails', { ...fields, '/1/options/pattern': 'TOKEN-\\d+', _try: '/1' });
  assert.match(tried.text, /would pass 1 \(were blocked\)[\s\S]+would redact 2 hits/);
  assert.match(tried.text, /data-pointer="\/1"[\s\S]{0,900}<details name="rows" open/);
  const wrong = await p.submit('/console/run/replaceGuardrails', { ...fields, '/1/options/pattern': '(', _try: '/1' });
  assert.match(wrong.text, /data-pointer="\/1\/options\/pattern"[\s\S]*?class="field-error"/);
  const orderAfter = async (sent: Record<string, string>) => {
    const { text } = await p.submit('/console/run/replaceGuardrails', { ...fields, ...sent });
    return [fieldsIn(text)['/0/name'], fieldsIn(text)['/1/name']];
  };
  assert.match((await p.open(EDITOR)).text, /name="_up" value="\/1"[^>]*aria-label="Move down"/);
  const moves: readonly Record<string, string>[] = [{ _up: '/1' }, { _move: '/0/1' }, { _move: '/1/0' }];
  for (const sent of moves) assert.equal(await orderAfter(sent), ['no keys', 'no z']);
  for (const _move of ['/7/0', '/x', '/0/0']) assert.equal(await orderAfter({ _move }), ['no z', 'no keys'], _move);
  assert.equal(await listed(), RULES);
});

test('the form of a blackout first shows which runs it would suppress, and declares it when it is submitted again', async () => {
  const job = { name: 'Daily', kind: 'recurring', target_kind: 'internal_agent', target: agent, cron_expr: '0 9 * * *' };
  await p.send('POST', `${p.tenant}/agents/${agent}/cron-jobs`, { body: job });
  const back = `${p.base}/schedules`;
  const { text } = await p.open(`/console/run/declareCronBlackout?tenant_id=${p.tenant_id}&next=${encodeURIComponent(back)}`);
  const fields = { ...fieldsIn(text), '/name': 'Holidays', '/start_date': '2126-12-24', '/end_date': '2126-12-26' };
  const impact = await p.submit('/console/run/declareCronBlackout', { ...fields, _preview: '1' });
  assert.match(impact.text, /data-form="declareCronBlackout"[\s\S]+data-impact[\s\S]+3 runs of 1 agent<[\s\S]+>Daily<[\s\S]+>Reviewer</);
  assert.equal(p.eventsOf('BlackoutDeclared'), []);
  const declared = await p.submit('/console/run/declareCronBlackout', fieldsIn(impact.text));
  assert.is(declared.status, 303, declared.text);
  assert.ok(declared.headers.get('location')!.startsWith(`${back}?after=`));
  assert.is(p.eventsOf('BlackoutDeclared').length, 1);
});

test('for a visitor who may not read integrations, the page of guardrails looks like an unknown page; an ADMIN can open it', async () => {
  for (const [role, status] of [
    ['MEMBER', 404],
    ['ADMIN', 200],
  ] as const) {
    const session = await p.signIn((await addMember(p, role, p.tenant_id, `g-${role}@example.com`)).key);
    assert.is((await p.open(path, session)).status, status, role);
  }
});

test.after(p.close);
test.run();
