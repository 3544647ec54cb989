import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { type Answer, createTestPlatform } from '../fixtures/test-platform.ts';
import { UNSET_SLACK_CONFIG } from '../fixtures/unset-slack-config.ts';
import { addMember } from '../fixtures/users.ts';

type Json = Record<string, unknown>;

const p = await createTestPlatform();
const agent = (await p.send('POST', `${p.tenant}/agents`, { body: { name: 'Agent', slug: 'agent' } })).body as Json;
const path = `${p.tenant}/agents/${agent.id}/slack-config`;
const put = (body: Json): Promise<Answer> => p.send('PUT', path, { body });

test('at first, the Slack settings of an agent are the default settings; of two changes with the same ETag in If-Match, only the first succeeds', async () => {
  const { status, body, headers } = await p.send('GET', path);
  assert.equal([status, body], [200, UNSET_SLACK_CONFIG]);
  const change = (slack_rph_limit: number) =>
    p.send('PUT', path, { body: { slack_rph_limit }, headers: { 'if-match': headers.get('etag')! } });
  assert.equal([(await change(7)).status, (await change(8)).status], [200, 412]);
  assert.is((await put({ slack_rph_limit: null })).status, 200);
});

test('a change of the Slack settings stores the fields in the request and keeps the others; a read then returns the same settings and ETag as the response', async () => {
  const days = { working_hours_enabled: true, working_hours_days: ['Mon', 'Fri'], working_hours_tz: 'Europe/Berlin' };
  assert.is((await put({ slack_rpm_limit: 3_600, working_hours_start: '09:00', working_hours_end: '17:30' })).status, 200);
  const changed = await put(days);
  assert.equal(changed.body, {
    ...UNSET_SLACK_CONFIG,
    slack_rpm_limit: 3_600,
    working_hours_start: '09:00',
    working_hours_end: '17:30',
    ...days,
  });
  const read = await p.send('GET', path);
  assert.equal([read.body, read.headers.get('etag')], [changed.body, changed.headers.get('etag')]);
  const events = p.log.events.length;
  assert.equal((await put(days)).body, changed.body);
  assert.is(p.log.events.length, events, 'the same change again appends no event');
  const cleared = await put({ slack_rpm_limit: null, working_hours_days: null });
  assert.equal([(cleared.body as Json).slack_rpm_limit, (cleared.body as Json).working_hours_days], [null, null]);
});

test('an as-of read returns the Slack settings at the requested position', async () => {
  const before = (await p.send('GET', path)).body as Json;
  const at = (await put({ slack_rph_limit: 5 })).headers.get('consistency-token')!;
  await put({ slack_rph_limit: 6 });
  await p.waitForProjections();
  assert.equal((await p.send('GET', `${path}?as_of=${at}`)).body, { ...before, slack_rph_limit: 5 });
});

test('a request to change Slack settings with an invalid value gets 422, and the error points to the field', async () => {
  const wrong: [string, unknown][] = [
    ['slack_rph_limit', 0],
    ['slack_rph_limit', 86_401],
    ['slack_rpm_limit', 3_601],
    ['slack_rpm_limit', 1.5],
    ['working_hours_days', ['Mon', 'Mon']],
    ['working_hours_days', ['Monday']],
    ['working_hours_start', '9:00'],
    ['working_hours_start', '24:00'],
    ['working_hours_start', '23:60'],
    ['working_hours_start', '09:00\n'],
    ['working_hours_start', ''],
    ['working_hours_end', '08:00'],
    ['working_hours_tz', 'Mars/Olympus'],
    ['working_hours_tz', 'x'.repeat(65)],
    ['working_hours_tz', '+01:00'],
    ['working_hours_tz', ''],
    ['working_hours_enabled', 'yes'],
    ['colour', 'red'],
  ];
  for (const [field, value] of wrong) {
    const { status, body, text } = await put({ [field]: value });
    assert.is(status, 422, text);
    assert.ok((body as { errors: { pointer: string }[] }).errors[0]!.pointer.startsWith(`/${field}`), text);
  }
  for (const [field, value] of [
    ['slack_rph_limit', 86_400],
    ['slack_rph_limit', 1],
    ['slack_rpm_limit', 1],
  ] as const)
    assert.is((await put({ [field]: value })).status, 200);
});

test('a change is refused unless working hours end at least a minute after they start, even if one of the two times is sent and the other one was stored before', async () => {
  const hours = async () => {
    const { working_hours_start, working_hours_end } = (await p.send('GET', path)).body as Json;
    return [working_hours_start, working_hours_end];
  };
  const change = async (start?: string | null, end?: string | null) =>
    (
      await put({
        ...(start === undefined ? {} : { working_hours_start: start }),
        ...(end === undefined ? {} : { working_hours_end: end }),
      })
    ).status;
  assert.is(await change('00:00', '00:01'), 200);
  assert.equal([await change(undefined, '00:00'), await change('00:01'), await hours()], [422, 422, ['00:00', '00:01']]);
  assert.equal([await change(undefined, '23:59'), await change('23:58'), await change('23:59')], [200, 200, 422]);
  assert.equal([await change('09:00', '09:00'), await change('22:00', '06:00'), await hours()], [422, 422, ['23:58', '23:59']]);
  assert.equal(
    [await change('10:00', '10:01'), await change(null), await change(undefined, '00:00'), await hours()],
    [200, 200, 200, [null, '00:00']],
  );
  assert.equal([await change('00:00'), await change('00:00', null), await hours()], [422, 200, ['00:00', null]]);
});

test('if two changes at the same time are each valid but together are not, one of them succeeds and the other one is refused', async () => {
  await put({ working_hours_start: '09:00', working_hours_end: '17:00' });
  const answers = await Promise.all([put({ working_hours_start: '16:00' }), put({ working_hours_end: '15:00' })]);
  assert.equal(answers.map(({ status }) => status).sort(), [200, 422]);
});

test('a member without a role on the agent can neither read nor change its Slack settings; a request for those of a deleted agent gets 404', async () => {
  const member = await addMember(p, 'MEMBER');
  assert.is((await p.send('GET', path, { key: member.key })).status, 404);
  assert.is((await p.send('PUT', path, { key: member.key, body: {} })).status, 404);
  await p.send('DELETE', `${p.tenant}/agents/${agent.id}`);
  assert.is((await p.send('GET', path)).status, 404);
  assert.is((await put({ slack_rpm_limit: 2 })).status, 404);
});

afterLastTest(() => p.close());

test.run();
