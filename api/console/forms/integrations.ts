import { PROVIDERS_WITH_OPTIONS } from '../../integrations/providers-with-options.ts';
import { REASONS } from '../parts/reason-words.ts';
import { formLayout } from './form-layout.ts';

const SECRET_MADE = { value: 'made', label: 'Made here', fields: [] } as const;

/** Without an outcome, the API sends the accepted deliveries again in each of their states, and those given up. */
const OUTCOME = { none: 'Accepted and given up', words: { dead: 'Given up' } } as const;

export const integrationLayouts = {
  ...formLayout('connectWebhookIntegration', {
    title: 'Connect a provider',
    submit: 'Connect the provider',
    sections: [
      {
        items: [
          'provider',
          ['label', 'agent_id'],
          ['event_filter', 'delivery_id_source'],
          { name: 'secret', legend: 'Secret', options: [SECRET_MADE, { value: 'pasted', label: 'Of the provider', fields: ['secret'] }] },
          'options',
        ],
      },
      { isMore: true, items: ['replay_guard'] },
    ],
    fields: {
      provider: { isTiles: true },
      label: { label: 'Name', help: null },
      event_filter: { label: 'Events', none: 'All events, or one name per line', help: null, rows: 1 },
      secret: { label: 'Secret or public key', help: null },
      options: {
        label: 'Signature',
        help: null,
        members: {
          algorithm: { none: 'SHA-256', help: null },
          encoding: { none: 'Hexadecimal', help: null },
          header: { none: 'X-Signature', help: null },
          prefix: { label: 'Text before it', none: 'No text', help: null },
          signed_message: { none: '{body}', help: null, rows: 0 },
          timestamp_header: { label: 'Header with the time', none: 'No time', help: null },
          tolerance_seconds: { label: 'Clocks differ by', none: '300', help: null },
          event_source: { label: 'Name of the event', none: 'A header, or /type', help: null, rows: 0 },
        },
      },
      delivery_id_source: {
        label: 'Id of the delivery',
        none: 'The digest of the body',
        help: null,
        rows: 0,
      },
      replay_guard: { none: 'As the provider needs it', help: null },
    },
    shownIf: {
      options: { field: 'provider', is: PROVIDERS_WITH_OPTIONS },
      delivery_id_source: { field: 'provider', is: ['custom_hmac'] },
    },
  }),
  ...formLayout('rotateWebhookSecret', {
    title: 'Replace the secret',
    submit: 'Make a new secret valid',
    sections: [
      {
        items: [
          'overlap_seconds',
          {
            name: 'secret',
            legend: 'New secret',
            options: [SECRET_MADE, { value: 'pasted', label: 'Of the provider', fields: ['secret'] }],
          },
        ],
      },
    ],
    fields: {
      overlap_seconds: { help: 'In this time, deliveries with either secret are accepted.' },
      secret: { label: 'Secret or public key', help: null },
    },
    steps: [
      ['Now', 'The new secret is valid. The next page shows it once, if it is made here.'],
      ['In this time', 'Both secrets are accepted. Enter the new one at the provider.'],
      ['Afterwards', 'Deliveries that are signed with the previous secret are rejected.'],
    ],
  }),
  ...formLayout('replayTenantDeliveries', {
    title: 'Send deliveries again',
    submit: 'Send {total} deliveries again',
    sections: [{ items: [['target_agent_id', 'per_second'], 'release_reason'] }],
    fields: {
      target_agent_id: { none: 'The agent that got each', help: null },
      per_second: { none: 'No limit', help: null },
      release_reason: { label: 'Reason of the release', none: 'No reason', help: 'The audit log shows it.', rows: 0 },
      agent_id: { none: 'All agents', other: 'The chosen one' },
      integration_id: { none: 'All integrations', other: 'The chosen one' },
      provider: {
        none: 'All providers',
        words: { skill: 'Calls of skills', cron: 'Cron jobs', benchmark: 'Benchmark runs', mail: 'Mail' },
      },
      event: { none: 'All events' },
      provider_delivery_id: { none: 'Any id', help: null },
      reason: { none: 'All reasons', words: REASONS },
      rule: { none: 'All rules', help: null },
      problem: {
        label: 'Cause of the failure',
        none: 'All causes',
        words: { none: 'Without a report' },
        other: 'The same cause',
        help: null,
      },
      matched_secret: {
        label: 'Signed with',
        none: 'Any secret',
        words: { current: 'The current secret', previous: 'The previous secret' },
        help: null,
      },
      failed: { label: 'Failed at a runner', none: 'Any', help: null },
      given_up_from: { none: 'Any time', help: null },
      outcome: { ...OUTCOME, isListed: true },
      status: { none: 'All states', words: { done: 'Acknowledged', dead: 'Given up' } },
    },
    shownIf: { release_reason: { field: 'outcome', is: ['blocked'] } },
    summary: 'The deliveries',
  }),
  ...formLayout('replayDeliveries', {
    submit: 'Send {total} deliveries again',
    sections: [{ items: [['from', 'to'], ['outcome', 'event'], 'ids', 'agent_id', 'dry_run'] }],
    fields: {
      outcome: { ...OUTCOME, help: null },
      event: { none: 'All events', help: null },
      ids: { label: 'Ids of deliveries', none: 'All that match', help: 'One per line.' },
      agent_id: { label: 'Send to', none: 'The agent that got each', help: null },
      dry_run: { help: null },
    },
  }),
  ...formLayout('releaseDelivery', {
    submit: 'Release the delivery',
    sections: [{ items: ['reason', 'agent_id'] }],
    fields: {
      reason: { help: 'The audit log shows it.', rows: 0 },
      agent_id: { label: 'Send to', none: 'The agent to which it was addressed', help: null },
    },
  }),
};
