import type { ProviderDefinition } from './conventions/provider-definition.ts';
import { bitbucket } from './providers/bitbucket.ts';
import { customHmac } from './providers/custom-hmac.ts';
import { discord } from './providers/discord.ts';
import { github } from './providers/github.ts';
import { gitlab } from './providers/gitlab.ts';
import { gitlabToken } from './providers/gitlab-token.ts';
import { intercom } from './providers/intercom.ts';
import { jira } from './providers/jira.ts';
import { linear } from './providers/linear.ts';
import { pagerduty } from './providers/pagerduty.ts';
import { sentry } from './providers/sentry.ts';
import { shopify } from './providers/shopify.ts';
import { slack } from './providers/slack.ts';
import { standardWebhooks } from './providers/standard-webhooks.ts';
import { stripe } from './providers/stripe.ts';
import { twilio } from './providers/twilio.ts';
import { zoom } from './providers/zoom.ts';

const definitions = {
  github,
  gitlab,
  gitlab_token: gitlabToken,
  bitbucket,
  jira,
  slack,
  zoom,
  stripe,
  linear,
  shopify,
  twilio,
  discord,
  pagerduty,
  sentry,
  intercom,
  standard_webhooks: standardWebhooks,
  custom_hmac: customHmac,
};

/** Names are stored, so they never change. */
export type Provider = keyof typeof definitions;

/** In the order of the API and of forms. */
export const PROVIDER_DEFINITIONS: Readonly<Record<Provider, ProviderDefinition>> = definitions;

export const PROVIDERS = Object.keys(definitions) as readonly Provider[];

export const findDefinition = (name: string): ProviderDefinition | undefined =>
  Object.hasOwn(definitions, name) ? definitions[name as Provider] : undefined;
