import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Refusal } from '../../domain/refusal.ts';
import * as SlackConfig from '../../domain/slack/slack-config.ts';

const { change, initial } = SlackConfig;
const hours = { ...initial, working_hours_start: '09:00', working_hours_end: '17:00' };
const eventOf = (data: object) => [{ type: 'AgentSlackConfigChanged', data }];

test('changing Slack settings records only the fields that differ; repeating the change emits no event', () => {
  assert.equal(change({ slack_rpm_limit: 10, slack_rph_limit: null })(initial), eventOf({ slack_rpm_limit: 10 }));
  assert.equal(change({ slack_rpm_limit: 10 })({ ...initial, slack_rpm_limit: 10 }), []);
});

test('null clears a Slack setting, and an absent field leaves it unchanged', () => {
  const config = { ...hours, working_hours_enabled: true, working_hours_tz: 'Europe/Berlin' };
  assert.equal(
    change({ working_hours_tz: null, working_hours_enabled: null })(config),
    eventOf({ working_hours_tz: null, working_hours_enabled: false }),
  );
});

test('a change of working hours is refused unless they end after they start, even if the change contains only one of the two times', () => {
  const isRefused = (changes: SlackConfig.SlackConfigChanges, config = hours) =>
    assert.throws(
      () => change(changes)(config),
      (error: unknown) => error instanceof Refusal && error.extra.errors?.[0]?.pointer === '/working_hours_end',
    );
  isRefused({ working_hours_end: '09:00' });
  isRefused({ working_hours_start: '17:00' });
  isRefused({ working_hours_start: '22:00', working_hours_end: '06:00' }, initial as typeof hours);
  assert.equal(change({ working_hours_end: '09:01' })(hours), eventOf({ working_hours_end: '09:01' }));
  assert.equal(change({ working_hours_start: null, working_hours_end: '06:00' })(hours).length, 1);
});

test('a copied agent has the Slack settings of its source until they are changed for the first time; that change also records the settings of the source', () => {
  const inherited = { ...hours, slack_rpm_limit: 10 };
  assert.equal(SlackConfig.settingsInEffect(initial, inherited), inherited);
  assert.equal(SlackConfig.settingsInEffect({ ...initial }, inherited), initial, 'the state after an event that cleared all');
  assert.equal(change({ slack_rpm_limit: 10 }, inherited)(initial), []);
  assert.equal(change({ slack_rpm_limit: null }, inherited)(initial), eventOf({ ...inherited, slack_rpm_limit: null }));
  assert.equal(change({ slack_rpm_limit: 11 }, inherited)({ ...inherited }), eventOf({ slack_rpm_limit: 11 }));
  assert.throws(() => change({ working_hours_end: '09:00' }, inherited)(initial), 'must be after working_hours_start');
});

test('restoring earlier Slack settings records only the fields that differ, even for a copied agent', () => {
  const { restore } = SlackConfig;
  assert.equal(restore(initial)(hours), eventOf({ working_hours_start: null, working_hours_end: null }));
  assert.equal(restore(hours)(hours), []);
  assert.equal(restore(hours, hours)(initial), []);
  assert.equal(restore(initial, hours)(initial), eventOf(initial));
});

test.run();
