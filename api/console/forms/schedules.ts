import { formLayout } from './form-layout.ts';

const BACKOFF = { title: 'Retries', isMore: true, items: [['max_retries', 'retry_backoff']] } as const;

const NO_BODY = 'No message';

export const cronJobLayouts = {
  ...formLayout('createCronJob', {
    submit: 'Create the cron job',
    sections: [
      {
        items: [
          'name',
          {
            name: 'when',
            legend: 'When',
            options: [
              {
                value: 'expression',
                label: 'Cron expression',
                fields: ['cron_expr'],
                sets: { kind: 'recurring' },
              },
              {
                value: 'interval',
                label: 'At intervals',
                fields: ['interval_minutes'],
                sets: { kind: 'recurring', schedule_type: 'interval' },
              },
              { value: 'daily', label: 'Daily', fields: ['start_time'], sets: { kind: 'recurring', schedule_type: 'daily' } },
              { value: 'once', label: 'Once', fields: ['fire_at'], sets: { kind: 'one_shot' } },
            ],
          },
          'timezone',
          {
            name: 'calls',
            legend: 'Calls',
            options: [
              { value: 'agent', label: 'The agent', fields: [], sets: { target_kind: 'internal_agent', target: ':agent_id' } },
              {
                value: 'url',
                label: 'A URL',
                fields: [['target', 'method'], 'headers'],
                optional: ['method', 'headers'],
                sets: { target_kind: 'external_url' },
              },
            ],
          },
          'body_bytes',
        ],
      },
      BACKOFF,
    ],
    fields: {
      timezone: { label: 'Time zone', none: 'UTC' },
      start_time: { label: 'Every day at', help: null, type: 'time' },
      target: { label: 'URL', placeholder: 'https://example.com/hook', help: null, rows: 0, type: 'url' },
      body_bytes: { none: NO_BODY, help: null },
      method: { help: null },
      max_retries: { label: 'Attempts after a failure', help: null },
      retry_backoff: { label: 'Time between attempts', help: null },
    },
  }),
  ...formLayout('updateCronJob', {
    submit: 'Save the cron job',
    sections: [
      { items: ['name', ['cron_expr', 'timezone'], ['interval_minutes', 'start_time'], ['target', 'body_bytes']] },
      { title: 'Requests to a URL', isMore: true, items: ['method', 'headers'] },
      BACKOFF,
    ],
    fields: {
      timezone: { label: 'Time zone', none: 'UTC' },
      cron_expr: { none: 'No expression' },
      interval_minutes: { none: 'No interval' },
      start_time: { label: 'Every day at', none: 'No time of day', help: null },
      target: { label: 'Agent or URL', help: null, rows: 0 },
      body_bytes: { none: NO_BODY, help: null },
      max_retries: { label: 'Attempts after a failure', help: null },
      retry_backoff: { label: 'Time between attempts', help: null },
      schedule_type: { words: { daily: 'Daily', interval: 'By its interval or expression' } },
    },
  }),
};

const BLACKOUT_FIELDS = {
  agent_id: { label: 'Agent', none: 'All agents' },
  reason: { none: 'No reason' },
  recurring_yearly: { help: null },
  timezone: { label: 'Time zone', none: 'UTC' },
} as const;

export const blackoutLayouts = {
  ...formLayout('declareCronBlackout', {
    submit: 'Declare the blackout',
    sections: [
      {
        items: [
          'name',
          ['start_date', 'end_date'],
          ['timezone', 'recurring_yearly'],
          {
            name: 'agents',
            legend: 'Agents',
            options: [
              { value: 'all', label: 'All agents', fields: [], sets: { agent_id: null } },
              { value: 'some', label: 'Only some', fields: ['agent_id'] },
            ],
          },
          'reason',
        ],
      },
    ],
    fields: {
      ...BLACKOUT_FIELDS,
      agent_id: { label: 'These agents', help: 'Each gets its own blackout.', isSeveral: true },
      reason: { none: 'No reason', rows: 0, help: null },
    },
  }),
  ...formLayout('changeCronBlackout', {
    submit: 'Save the blackout',
    sections: [{ items: ['name', ['start_date', 'end_date'], ['timezone', 'recurring_yearly'], 'agent_id', 'reason'] }],
    fields: { ...BLACKOUT_FIELDS, reason: { none: 'No reason', rows: 0, help: null } },
  }),
};
