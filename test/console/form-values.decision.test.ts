import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { operationsOf } from '../../api/areas.ts';
import { formOf, topFields } from '../../api/console/forms/form.ts';
import { bodyOf, type Submitted } from '../../api/console/forms/form-body.ts';
import { errorMap } from '../../api/console/forms/form-errors.ts';
import { fittingOption, formFor, oneOfsIn } from '../../api/console/forms/form-layouts.ts';
import { formFields } from '../../api/console/forms/form-sections.ts';
import {
  amountText,
  errorInWords,
  helpWithLimits,
  instantOf,
  inUnit,
  localText,
  slugOf,
  unitsOf,
} from '../../api/console/forms/form-values.ts';
import { labelOf, sentenceForPeople, valueWords } from '../../api/console/forms/form-words.ts';
import { kindOfOption, rowText } from '../../api/console/forms/row-words.ts';
import { htmlOf, tags } from '../../api/console/parts/tags.ts';
import { isRead } from '../../api/http/operation.ts';

const operations = operationsOf({} as Parameters<typeof operationsOf>[0]);
const form = (operation: string) => formFor(operation, operations[operation]!);
const sentBy = (operation: string, fields: Record<string, string>, drawn?: unknown) =>
  bodyOf(form(operation), new URLSearchParams(fields) as Submitted, drawn).value as Record<string, unknown>;
const html = (operation: string, value: unknown, zone?: string) =>
  htmlOf(tags.form(null, ...formFields(form(operation), value, { errors: new Map(), choices: {}, zone })), '');

test('a number with a unit is sent in the unit of the API, and shown in the largest unit in which it is whole', () => {
  assert.equal(sentBy('rotateWebhookSecret', { '/overlap_seconds': '1.5', '_unit/overlap_seconds': 'hours' }), { overlap_seconds: 5400 });
  assert.equal(
    sentBy('rotateWebhookSecret', { '/overlap_seconds': '90' }),
    { overlap_seconds: 90 },
    'without a unit, it is that of the API',
  );
  assert.equal(
    [inUnit(7200, 'seconds'), inUnit(90, 'seconds'), inUnit(0, 'seconds')].map(({ count, name }) => `${count} ${name}`),
    ['2 hours', '90 seconds', '0 seconds'],
  );
  assert.match(html('rotateWebhookSecret', {}), /name="\/overlap_seconds"[^>]*value="1"[\s\S]*<option value="days" selected/);
});

test('the limits of a number with a unit are shown, and reported by the API, in units that people read', () => {
  let limited = 0;
  for (const row of Object.values(operations).filter((one) => !isRead(one) && one.body !== undefined))
    for (const field of topFields(formOf(row))) {
      if (field.kind !== 'number' || unitsOf(field.unit).length < 2 || field.max === null || field.max >= Number.MAX_SAFE_INTEGER) continue;
      limited += 1;
      const { count, name } = inUnit(field.max, field.unit!);
      const text = `${count} ${count === 1 ? name.slice(0, -1) : name}`;
      assert.ok(helpWithLimits(field)?.toLowerCase().includes(`at most ${text}`), `${field.name} ${text}`);
      const message = `must be between ${field.min ?? 0} and ${field.max}`;
      assert.ok(
        errorInWords(formOf(row))({ pointer: field.pointer, message, code: 'too_big' }).message.endsWith(` and ${text}`),
        field.name,
      );
    }
  assert.ok(limited >= 3, String(limited));
  const rotate = errorInWords(form('rotateWebhookSecret'));
  const { message } = rotate({ pointer: '/overlap_seconds', message: 'whatever the API says', code: 'too_big' });
  assert.is(message, 'must be between 0 seconds and 7 days');
  assert.match(html('rotateWebhookSecret', {}), /are accepted\. At most 7 days\./);
  const wrongType = { pointer: '/overlap_seconds', message: 'must be a number', code: 'invalid_type' };
  assert.equal(rotate(wrongType), wrongType);
  const other = { pointer: '/per_second', message: 'must be between 1 and 1000', code: 'too_big' };
  assert.equal(errorInWords(form('replayTenantDeliveries'))(other), other, 'a number without a unit');
  const dates = errorInWords(form('declareCronBlackout'))({ pointer: '/end_date', message: 'whatever the API says', code: 'before_start' });
  assert.is(dates.message, 'must not be before the first day');
});

test('a default value is shown in its field, and is not sent if it is not changed', () => {
  assert.equal(sentBy('rotateWebhookSecret', { '/overlap_seconds': '1', '_unit/overlap_seconds': 'days' }), {});
  assert.match(html('createCronJob', {}), /name="\/max_retries"[^>]*value="3"/);
});

test('times are entered in the time zone of the form; a time that was not changed is sent as it was', () => {
  const at = '2027-03-28T00:30:00.000Z';
  assert.is(localText(at, 'Europe/Berlin'), '2027-03-28T01:30');
  assert.is(localText('2027-03-28T00:30:05.250Z', 'UTC'), '2027-03-28T00:30:05.250');
  assert.is(instantOf('2027-03-28T01:30', 'Europe/Berlin'), at);
  assert.is(instantOf('soon', 'Europe/Berlin'), 'soon', 'the API refuses what is not a time');
  const key = { '/expires_at': '2027-03-28T01:30', _zone: 'Europe/Berlin' };
  assert.equal(sentBy('createApiKey', { ...key, '/name': 'CI' }), { name: 'CI', expires_at: at });
  assert.is(sentBy('createApiKey', key, { expires_at: '2027-03-28T00:30:00Z' }).expires_at, '2027-03-28T00:30:00Z');
});

test('bytes are entered as text; bytes that are not text stay as they are', () => {
  const sent = sentBy('createCronJob', { '/body_bytes': 'é\r\n' });
  assert.is(Buffer.from(String(sent.body_bytes), 'base64').toString(), 'é\n');
  const binary = Buffer.from([0xff, 0xfe, 0]).toString('base64');
  assert.match(html('updateCronJob', { body_bytes: binary }), /name="_coded\/body_bytes"/);
  assert.is(sentBy('updateCronJob', { '/body_bytes': binary, '_coded/body_bytes': '1' }, {}).body_bytes, binary);
});

test('only the fields of the chosen option are sent; a field that had a value is cleared', () => {
  const typed = {
    '/name': 'n',
    '/cron_expr': '0 9 * * *',
    '/interval_minutes': '5',
    '_one/when': 'interval',
    '_one/calls': 'agent',
    ':agent_id': 'a1',
  };
  assert.equal(sentBy('createCronJob', typed), {
    ...{ name: 'n', interval_minutes: 5, kind: 'recurring', schedule_type: 'interval', target_kind: 'internal_agent', target: 'a1' },
  });
  assert.equal(sentBy('changeAgentBudget', { '/hourly_limit_usd': '0.50', '_one/limit': 'none' }, { hourly_limit_usd: 0.5 }), {
    hourly_limit_usd: null,
  });
  const [limit] = oneOfsIn(form('changeAgentBudget').layout!);
  assert.equal(
    [{ hourly_limit_usd: 2 }, { hourly_limit_usd: null }].map((values) => fittingOption(limit!, values, () => undefined)),
    ['limit', 'none'],
  );
  assert.equal(amountText(0.5), '0.50');
  assert.not.ok('options' in sentBy('connectWebhookIntegration', { '/provider': 'github', '/options/header': 'X-Sig' }));
});

test('an option of another kind of guardrail rule is not sent', () => {
  const rule = { '/0/kind': 'size', '/0/options/max_bytes': '10', '/0/options/pattern': 'x', '/0/name': 'a', '/0/action': 'block' };
  assert.equal(sentBy('replaceGuardrails', rule), [{ name: 'a', kind: 'size', options: { max_bytes: 10 }, action: 'block' }]);
  const body = form('replaceGuardrails').body!;
  const options = body.kind === 'rows' && body.item.kind === 'group' ? body.item.fields.find(({ name }) => name === 'options') : undefined;
  assert.ok(options?.kind === 'group' && options.fields.every(({ name }) => kindOfOption(name) !== undefined));
  assert.is(
    rowText({ name: 'big', kind: 'size', options: { max_bytes: 5000 }, action: 'block' }),
    'big: Block deliveries with more than 5,000 bytes',
  );
});

test('the slug of an agent is derived from its name unless one is entered', () => {
  assert.is(sentBy('createAgent', { '/name': 'Größe & Co', '/slug': '' }).slug, 'grosse-co');
  assert.is(sentBy('createAgent', { '/name': 'Reviewer', '/slug': 'other' }).slug, 'other');
  assert.is(slugOf('  --Ünïcode 1 '), 'unicode-1');
});

test('errors of the path and of the query are at their fields', () => {
  const errors = ['/path/agent_id', '/query/since', '/name'].map((pointer) => ({ pointer, message: 'is wrong' }));
  assert.equal([...errorMap(errors).keys()], [':agent_id', '?since', '/name']);
});

test('names, values and descriptions of the API are shown in plain words, or are left out', () => {
  assert.equal(
    [labelOf('cron_expr'), labelOf('display_name'), labelOf('hourly_limit_usd')],
    ['Cron expression', 'Display name', 'Limit per hour'],
  );
  assert.equal(
    [valueWords('internal_agent', 'target_kind'), valueWords('linear', 'provider'), valueWords('linear', 'retry_backoff')],
    ['An agent', 'Linear', '30 seconds longer each time'],
  );
  assert.is(sentenceForPeople('The branch; `main` if there is none'), 'The branch');
  assert.is(sentenceForPeople('For `daily` the time of day'), null);
});

test.run();
