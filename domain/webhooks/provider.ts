/** The services whose deliveries the platform can verify. */
export const PROVIDERS = [
  'github',
  'gitlab',
  'gitlab_token',
  'bitbucket',
  'jira',
  'slack',
  'zoom',
  'stripe',
  'linear',
  'shopify',
  'twilio',
  'discord',
  'pagerduty',
  'sentry',
  'intercom',
  'standard_webhooks',
  'custom_hmac',
] as const;
export type Provider = (typeof PROVIDERS)[number];
