import type { Provider } from './provider.ts';

/** How a provider sends a delivery again. */
export type RetrySchedule = {
  /**
   * `same`: every attempt has the same bytes and the same signature. `anew`: every attempt is signed for itself, with
   * the time of the attempt if the provider signs a time.
   */
  readonly signs: 'same' | 'anew';
  /** The seconds between the attempts that the provider makes on its own. If the list is empty, it makes only one. */
  readonly delaysSeconds: readonly number[];
  /** For how long after the first attempt a person can have the provider send a delivery again; 0 if not at all. */
  readonly byHandSeconds: number;
};

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const repeat = (times: number, seconds: number): readonly number[] => Array.from({ length: times }, () => seconds);

/**
 * Maps each provider to its schedule. If the provider documents only a total time or a range, the delays are the longest
 * ones. The senders of custom_hmac are not known. The schedule of standard_webhooks is the one that its specification
 * recommends.
 */
export const RETRIES: Readonly<Record<Exclude<Provider, 'custom_hmac'>, RetrySchedule>> = {
  // https://docs.github.com/en/webhooks/using-webhooks/handling-failed-webhook-deliveries
  github: { signs: 'same', delaysSeconds: [], byHandSeconds: 3 * DAY },
  // https://docs.gitlab.com/user/project/integrations/webhooks/#resend-a-request
  gitlab: { signs: 'anew', delaysSeconds: [], byHandSeconds: 2 * DAY },
  gitlab_token: { signs: 'same', delaysSeconds: [], byHandSeconds: 2 * DAY },
  // https://support.atlassian.com/bitbucket-cloud/docs/troubleshoot-webhooks/: two more attempts after a 5xx.
  bitbucket: { signs: 'same', delaysSeconds: [5 * MINUTE, 5 * MINUTE], byHandSeconds: 30 * DAY },
  // https://developer.atlassian.com/cloud/jira/platform/webhooks/: five more attempts, 5 to 15 minutes apart.
  jira: { signs: 'same', delaysSeconds: repeat(5, 15 * MINUTE), byHandSeconds: 0 },
  // https://docs.slack.dev/apis/events-api/#retries; with delayed events, hourly for a day after that.
  slack: { signs: 'anew', delaysSeconds: [1, MINUTE, 5 * MINUTE, ...repeat(24, HOUR)], byHandSeconds: 0 },
  // https://developers.zoom.us/docs/api/webhooks/#retry-policy
  zoom: { signs: 'anew', delaysSeconds: [5 * MINUTE, 30 * MINUTE, 90 * MINUTE], byHandSeconds: 0 },
  // https://docs.stripe.com/webhooks#automatic-retries: for three days; by hand for 30 days.
  stripe: {
    signs: 'anew',
    delaysSeconds: [5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 10 * HOUR, 44 * HOUR],
    byHandSeconds: 30 * DAY,
  },
  // https://linear.app/developers/webhooks
  linear: { signs: 'same', delaysSeconds: [MINUTE, HOUR, 6 * HOUR], byHandSeconds: 0 },
  // https://shopify.dev/changelog/updates-to-webhook-retry-mechanism: eight more attempts in four hours.
  shopify: { signs: 'same', delaysSeconds: repeat(8, 30 * MINUTE), byHandSeconds: 0 },
  // https://www.twilio.com/docs/usage/webhooks/webhooks-connection-overrides: at most five, at once.
  twilio: { signs: 'same', delaysSeconds: repeat(5, 15), byHandSeconds: 0 },
  // https://discord.com/developers/docs/events/webhook-events: for ten minutes. Interactions are sent once.
  discord: { signs: 'anew', delaysSeconds: repeat(10, MINUTE), byHandSeconds: 0 },
  // https://support.pagerduty.com/main/docs/webhooks: ten more attempts in a day.
  pagerduty: { signs: 'same', delaysSeconds: repeat(10, 144 * MINUTE), byHandSeconds: 0 },
  // https://docs.sentry.io/organization/integrations/integration-platform/webhooks/
  sentry: { signs: 'same', delaysSeconds: [], byHandSeconds: 0 },
  // https://developers.intercom.com/docs/webhooks/webhook-notifications: the body has the number of the attempt.
  intercom: { signs: 'anew', delaysSeconds: [MINUTE], byHandSeconds: 0 },
  // https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md#deliverability-and-reliability
  standard_webhooks: {
    signs: 'anew',
    delaysSeconds: [5, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, DAY],
    byHandSeconds: 0,
  },
};

/** Returns the seconds between the first and the last attempt that a provider makes on its own. */
export const lastAttemptSeconds = ({ delaysSeconds }: RetrySchedule): number => delaysSeconds.reduce((sum, seconds) => sum + seconds, 0);

/** How much later than scheduled an attempt may come, because the provider waits for answers, or is late. */
const MAX_DELAY_SECONDS = HOUR;

/** Returns how old a signed time may be if the provider sends the same bytes again, in seconds. */
export const sameBytesAge = (provider: Exclude<Provider, 'custom_hmac'>): number =>
  lastAttemptSeconds(RETRIES[provider]) + MAX_DELAY_SECONDS;

/** Returns whether a provider makes a further attempt on its own. That of custom_hmac is not known to do so. */
export const triesAgain = (provider: Provider): boolean => provider !== 'custom_hmac' && RETRIES[provider].delaysSeconds.length > 0;
