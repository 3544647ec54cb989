import { formLayout } from './form-layout.ts';

export const agentLayouts = {
  ...formLayout('createAgent', {
    submit: 'Create the agent',
    sections: [
      { items: [['name', 'slug'], 'description'] },
      { title: 'Conversation', isMore: true, items: ['initial_greeting', 'description_prompt', 'voice'] },
      {
        title: 'Resources',
        isMore: true,
        items: [
          ['resource_class', 'environment_mode'],
          ['image_ref', 'iteration_warn_threshold'],
        ],
      },
      { title: 'Access', isMore: true, items: ['can_author_skills', 'is_admin_only', 'kind'] },
    ],
    fields: {
      slug: { label: 'Short name', placeholder: 'Made from the name', help: 'For programs. It never changes.' },
      description: { label: 'What it does', help: null, rows: 3 },
      initial_greeting: { none: 'No greeting' },
      description_prompt: { label: 'Description for the model', help: null, none: 'No description' },
      voice: { none: 'No voice', rows: 0, help: null },
      image_ref: { label: 'Container image', none: 'No image', rows: 0, help: null },
      iteration_warn_threshold: { label: 'Warn after iterations', none: 'No warning', help: null },
      environment_mode: { label: 'Environment', words: { shared: 'One for all sessions', isolated: 'One for each session' }, help: null },
      resource_class: { help: null },
    },
    slug: { of: 'name', to: 'slug' },
  }),
  ...formLayout('changeAgentBudget', {
    title: 'Budget of an agent',
    submit: 'Save the budget',
    sections: [
      {
        items: [
          {
            name: 'limit',
            legend: 'What the agent may spend in one hour',
            options: [
              { value: 'limit', label: 'At most', fields: ['hourly_limit_usd'] },
              { value: 'none', label: 'No limit', fields: [], sets: { hourly_limit_usd: null } },
            ],
          },
        ],
      },
    ],
    fields: { hourly_limit_usd: { label: 'US dollars per hour', help: 'Hours begin at full hours of UTC.' } },
  }),
  ...formLayout('startSession', {
    submit: 'Start the session',
    sections: [
      { items: ['message'] },
      { isMore: true, items: ['title', 'expires_in_seconds', 'user_id', 'delivery_id', 'cron_occurrence_id'] },
    ],
    fields: {
      message: { label: 'Message', help: 'What the agent is to do.', rows: 6 },
      title: { none: 'No title', help: null },
      user_id: { label: 'For the member', none: 'No member', help: null },
      delivery_id: { label: 'About the delivery', none: 'No delivery', help: null },
      cron_occurrence_id: { none: 'No run', help: null },
      expires_in_seconds: { help: null },
    },
  }),
  ...formLayout('continueSession', {
    submit: 'Continue the session',
    sections: [{ items: ['message'] }],
    fields: {
      message: { label: 'Message', help: 'What the agent is to do next.', rows: 6 },
      title: { none: 'The title of the session that ended', help: null },
      expires_in_seconds: { help: null },
    },
  }),
};
