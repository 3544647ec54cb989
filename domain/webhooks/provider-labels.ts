import type { Provider } from './provider.ts';

/** The names of the providers as people see them. */
export const PROVIDER_LABELS: Readonly<Record<Provider, string>> = {
  github: 'GitHub',
  gitlab: 'GitLab',
  gitlab_token: 'GitLab (secret token)',
  bitbucket: 'Bitbucket',
  jira: 'Jira',
  slack: 'Slack',
  zoom: 'Zoom',
  stripe: 'Stripe',
  linear: 'Linear',
  shopify: 'Shopify',
  twilio: 'Twilio',
  discord: 'Discord',
  pagerduty: 'PagerDuty',
  sentry: 'Sentry',
  intercom: 'Intercom',
  standard_webhooks: 'Standard Webhooks',
  custom_hmac: 'Custom (HMAC)',
};
