import { tags } from './tags.ts';

const { ol, li } = tags;

type Setup = { readonly name: string; readonly steps: readonly string[] };

const JSON_TYPE = 'Choose the content type application/json.';
const OURS = 'Paste the secret. Only the answer that created it shows it: if it is lost, replace it.';
const CHECKED = 'Save. The provider checks the address at once, and Annals answers that check.';

/** For each provider, the steps that enter the URL and the secret of an integration in the provider's settings. */
const SETUPS: Readonly<Record<string, Setup>> = {
  github: {
    name: 'GitHub',
    steps: [
      'Open the repository or organisation, then Settings, Webhooks, Add webhook.',
      'Paste the address as Payload URL.',
      JSON_TYPE,
      OURS,
      'Choose the events and save. GitHub sends a ping at once.',
    ],
  },
  gitlab: {
    name: 'GitLab',
    steps: [
      'Open the project, then Settings, Webhooks, Add new webhook.',
      'Paste the address as URL.',
      'Paste the secret (whsec_…) as signing token.',
      'Choose the triggers and save. Test sends a sample.',
    ],
  },
  gitlab_token: {
    name: 'GitLab (secret token)',
    steps: [
      'Open the project, then Settings, Webhooks, Add new webhook.',
      'Paste the address as URL.',
      'Paste the secret as secret token. It does not sign the body: prefer the signing token.',
      'Choose the triggers and save.',
    ],
  },
  bitbucket: {
    name: 'Bitbucket',
    steps: [
      'Open the repository, then Repository settings, Webhooks, Add webhook.',
      'Paste the address as URL.',
      OURS,
      'Choose the triggers.',
    ],
  },
  jira: {
    name: 'Jira',
    steps: ['Open Settings, System, WebHooks, Create a WebHook.', 'Paste the address as URL.', OURS, 'Choose the events and save.'],
  },
  slack: {
    name: 'Slack',
    steps: [
      'Open the app at api.slack.com, then Event Subscriptions, and enable them.',
      'Paste the address as Request URL. Slack checks it at once.',
      'The secret is the signing secret of Basic Information, App Credentials.',
      'Subscribe to bot events and save.',
    ],
  },
  zoom: {
    name: 'Zoom',
    steps: [
      'Open the app in the Zoom App Marketplace, then Feature, Event Subscriptions.',
      'Paste the address as Event notification endpoint URL, and validate it.',
      'The secret is the secret token of the same page.',
    ],
  },
  stripe: {
    name: 'Stripe',
    steps: [
      'Open Developers, Webhooks, Add endpoint.',
      'Paste the address as Endpoint URL, and choose the events.',
      'The secret is the signing secret (whsec_…) that Stripe then reveals.',
    ],
  },
  linear: {
    name: 'Linear',
    steps: ['Open Settings, API, Webhooks, New webhook.', 'Paste the address as URL.', 'The secret is the signing secret of that webhook.'],
  },
  shopify: {
    name: 'Shopify',
    steps: [
      'Open Settings, Notifications, Webhooks, or the webhooks of the app.',
      'Paste the address as URL, with the format JSON.',
      'The secret is the client secret of the app, or the one that the page of the webhooks shows.',
    ],
  },
  twilio: {
    name: 'Twilio',
    steps: [
      'Open the number or service, then its webhooks.',
      'Paste the address as URL, with HTTP POST.',
      'The secret is the auth token of the account.',
    ],
  },
  discord: {
    name: 'Discord',
    steps: [
      'Open the application in the developer portal.',
      'The secret is the public key of General Information.',
      'Paste the address as Interactions or Webhook Events endpoint.',
      CHECKED,
    ],
  },
  pagerduty: {
    name: 'PagerDuty',
    steps: [
      'Open Integrations, Generic Webhooks (v3), New Webhook.',
      'Paste the address as Webhook URL.',
      'The secret is the signing secret that is shown once.',
    ],
  },
  sentry: {
    name: 'Sentry',
    steps: [
      'Open Settings, Custom Integrations, and create an internal integration.',
      'Paste the address as Webhook URL, and choose the resources.',
      'The secret is the client secret of that integration.',
    ],
  },
  intercom: {
    name: 'Intercom',
    steps: [
      'Open the app in the developer hub, then Webhooks.',
      'Paste the address as endpoint URL, and choose the topics.',
      'The secret is the client secret of Basic information.',
    ],
  },
  standard_webhooks: {
    name: 'Standard Webhooks',
    steps: ['Open the webhook settings of the service, such as those of Svix.', 'Paste the address as endpoint URL.', OURS],
  },
  custom_hmac: {
    name: 'Custom (HMAC)',
    steps: [
      'Let the service send POST requests to the address.',
      'Let it sign as the options of the integration say, with the secret.',
      'Give each delivery an id, or Annals takes the digest of its body.',
    ],
  },
};

/** Returns the name of a provider as people know it. */
export const providerName = (provider: string): string => SETUPS[provider]?.name ?? provider;

/** Renders the steps that connect a provider with the URL of an integration. */
export const setupSteps = (provider: string) =>
  ol({ class: 'setup-steps' }, ...(SETUPS[provider]?.steps ?? []).map((step) => li(null, step)));

/**
 * Whether the platform can sign a test delivery. It cannot if the secret is the public key of the sender, because then
 * only the sender can sign.
 */
export const canSendSample = ({
  provider,
  options,
}: {
  readonly provider: string;
  readonly options: { readonly algorithm?: string | undefined };
}): boolean => provider !== 'discord' && options.algorithm !== 'ed25519';
