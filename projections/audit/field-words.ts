import { OAUTH_PROVIDERS } from '../../domain/credentials/oauth-provider.ts';
import { findDefinition } from '../../domain/integrations/provider.ts';

/** Texts for fields whose names a user would not understand. */
const WORDS: Readonly<Record<string, string>> = {
  allow_superadmin_access: 'access of super-admins',
  body_bytes: 'message',
  can_author_skills: 'right to write skills',
  code_ref: 'branch or tag',
  cron_expr: 'cron expression',
  delivery_id_source: 'place of the delivery id',
  description_prompt: 'description for the model',
  event_filter: 'events',
  external_mail_enabled: 'mail with other addresses',
  fire_at: 'time',
  image_ref: 'container image',
  interval_minutes: 'interval',
  is_active: 'activation',
  is_admin_only: 'visibility to members',
  is_enabled: 'activation',
  is_free: 'free use',
  is_paused: 'pause',
  iteration_warn_threshold: 'warning after iterations',
  max_retries: 'attempts after a failure',
  options: 'signature',
  paused_reason: 'reason of the pause',
  recurring_yearly: 'yearly repetition',
  replay_guard: 'handling of repeated bodies',
  repo_url: 'repository',
  retry_backoff: 'time between attempts',
  slug: 'short name',
  timezone: 'time zone',
  working_hours_enabled: 'use of working hours',
  working_hours_tz: 'time zone of the working hours',
};

const spaced = (name: string): string => name.replaceAll('_', ' ');

/** Returns a field as a sentence names it: `is_paused` becomes `pause`. */
export const fieldWords = (name: string): string => {
  const known = Object.hasOwn(WORDS, name) ? WORDS[name] : undefined;
  if (known !== undefined) return known;
  return spaced(
    name
      .replace(/^(?:is|can|has)_/, '')
      .replace(/_(?:usd|ms|seconds|minutes|hours|days)$/, '')
      .replace(/_ids?$/, (end) => (end === '_ids' ? 's' : '')),
  );
};

/** Returns the name of a provider as people know it: `github` becomes `GitHub`. */
export const providerName = (provider: string): string =>
  findDefinition(provider)?.label ?? (Object.hasOwn(OAUTH_PROVIDERS, provider) ? OAUTH_PROVIDERS[provider]!.label : provider);
