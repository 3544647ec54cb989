import { formLayout } from './form-layout.ts';

const RULES = { items: { label: 'Rules', help: 'The first rule that applies decides. Open one to change it.' } } as const;

export const guardrailLayouts = {
  ...formLayout('replaceGuardrails', {
    title: 'Guardrail rules',
    submit: 'Save the rules',
    sections: [],
    fields: RULES,
    isReviewed: true,
  }),
  ...formLayout('replaceIntegrationGuardrails', {
    title: 'Guardrail rules of an integration',
    intro: 'They apply to later deliveries, after the rules of the tenant.',
    submit: 'Save the rules',
    sections: [],
    fields: RULES,
    isReviewed: true,
  }),
  ...formLayout('replaceRedactionPatterns', {
    title: 'Redaction patterns',
    intro: 'What they match is replaced before a delivery, a message of a session or a mail is stored.',
    submit: 'Save the patterns',
    sections: [],
    fields: { items: { label: 'Patterns', help: null } },
  }),
};
