import { providerLabel } from '../../integrations/provider-setup.ts';

/** The labels of fields whose names do not make a good label. A unit at the end of a name is not part of the label. */
const LABELS: Readonly<Record<string, string>> = {
  after: 'After',
  agent_id: 'Agent',
  allow: 'Only these events',
  allow_superadmin_access: 'Super-admins may open the tenant',
  amount_usd: 'Amount',
  available_to_all_tenants: 'Available to all tenants',
  billing_email: 'E-mail address for invoices',
  body_bytes: 'Message',
  can_author_skills: 'May write skills',
  cc: 'Copy to',
  code_ref: 'Branch or tag',
  config: 'Settings',
  config_key: 'Setting',
  config_schema: 'Schema of the settings',
  cron_expr: 'Cron expression',
  cron_occurrence_id: 'Run of a cron job',
  default_skill_visibility_scope: 'Who sees new skills',
  delivery_id_source: 'Where the delivery id is',
  deny: 'Not these events',
  description_long: 'Full description',
  description_prompt: 'Description for the model',
  dry_run: 'Only count',
  email: 'E-mail address',
  end_date: 'Last day',
  environment_mode: 'Environment',
  evaluator_strategy: 'How answers are scored',
  event_filter: 'Events',
  event_source: 'Where the name of the event is',
  expires_at: 'Expires at',
  expires_in_seconds: 'Expires after',
  external_mail_enabled: 'Mail with other addresses',
  fire_at: 'Once, at',
  from: 'From',
  given_up_from: 'Given up since',
  hourly_limit_usd: 'Limit per hour',
  html: 'Message as HTML',
  image_ref: 'Container image',
  input_schema: 'Schema of the settings',
  interval_minutes: 'Every',
  is_active: 'Active',
  is_admin_only: 'Only for owners and admins',
  is_enabled: 'Enabled',
  is_free: 'Free of charge',
  is_paused: 'Paused',
  is_super_admin: 'Super-admin',
  is_suspended: 'Suspended',
  iteration_warn_threshold: 'Warn after iterations',
  kind: 'Kind',
  matched_secret: 'Signed with',
  max: 'Deliveries',
  max_bytes: 'Largest body',
  max_depth: 'Longest chain',
  max_retries: 'Attempts after a failure',
  monthly_usd: 'Price per month',
  new_owner_id: 'New owner',
  overlap_seconds: 'The previous secret stays valid for',
  owner_email: 'E-mail address of the owner',
  paid: 'Pays',
  paused_reason: 'Reason of the pause',
  per_second: 'Deliveries per second',
  per_seconds: 'Within',
  provider_delivery_id: 'Id of the provider',
  read_only: 'Only reads',
  recurring_yearly: 'Every year',
  replay_guard: 'The same body with another id',
  repo_url: 'Repository',
  retry_backoff: 'Time between attempts',
  schedule_type: 'Schedule',
  signed_message: 'Signed text',
  since: 'Since',
  skill_visibility_scope: 'Who sees its skills',
  slack_rph_limit: 'Deliveries from Slack per hour',
  slack_rpm_limit: 'Deliveries from Slack per minute',
  slug: 'Short name',
  sslmode: 'Encryption',
  start_date: 'First day',
  start_time: 'Time of day',
  stderr_tail: 'End of standard error',
  target_agent_id: 'Send to',
  target_kind: 'Calls',
  timezone: 'Time zone',
  to: 'Until',
  tolerance_seconds: 'Largest difference of clocks',
  ttl_seconds: 'Ends after',
  user_id: 'Person',
  when: 'If',
  when_closed: 'Outside of these hours and limits',
  working_hours_days: 'Working days',
  working_hours_enabled: 'Only in working hours',
  working_hours_end: 'End of work',
  working_hours_start: 'Start of work',
  working_hours_tz: 'Time zone',
  zoom_managed: 'Managed by Zoom',
};

const UPPER_CASE: Readonly<Record<string, string>> = {
  api: 'API',
  gcs: 'GCS',
  id: 'ID',
  ids: 'IDs',
  mime: 'MIME',
  oauth: 'OAuth',
  s3: 'S3',
  ssh: 'SSH',
  tz: 'time zone',
  uri: 'URI',
  url: 'URL',
  urls: 'URLs',
  usd: 'USD',
};

const UNIT_AT_END = /_(?:usd|ms|seconds|minutes|hours|days)$/;

const derivedLabel = (name: string): string => {
  const [first = '', ...rest] = name
    .replace(UNIT_AT_END, '')
    .replace(/_ids?$/, (end) => (end === '_ids' ? 's' : ''))
    .split(/[_-]/);
  const words = [UPPER_CASE[first] ?? first.slice(0, 1).toUpperCase() + first.slice(1), ...rest.map((word) => UPPER_CASE[word] ?? word)];
  return words.join(' ');
};

/** Returns the name of a field as people see it: `cron_expr` becomes `Cron expression`. */
export const labelOf = (name: string): string => LABELS[name] ?? derivedLabel(name);

/** The words for values whose spelling does not say what they mean. */
const VALUES: Readonly<Record<string, string>> = {
  ADMIN: 'Admin',
  AUDITOR: 'Auditor',
  CHAT: 'Chat',
  MANAGER: 'Manager',
  EDITOR: 'Editor',
  MEMBER: 'Member',
  OWNER: 'Owner',
  VIEWER: 'Viewer',
  absent: 'Nothing is there',
  block: 'Block the delivery',
  event_filter: 'Name of the event',
  external_url: 'A URL',
  dba: 'Databases',
  exponential: 'Twice as long each time',
  gcs: 'Google Cloud Storage',
  hex: 'Hexadecimal',
  hold: 'Hold the delivery',
  injection: 'Instructions to a model',
  internal_agent: 'An agent',
  json_path: 'A value in the body',
  label: 'Label the delivery',
  loop: 'A chain of deliveries',
  mark: 'Mark the delivery',
  off: 'Nothing',
  one_shot: 'Once',
  pattern: 'A text in the body',
  present: 'Something is there',
  rate: 'Number of deliveries',
  recurring: 'Again and again',
  redact: 'Replace what was found',
  size: 'Size of the body',
  true: 'Yes',
  false: 'No',
};

/** The words for values that have another meaning in other fields, by `field/value`. */
const OF_FIELD: Readonly<Record<string, string>> = {
  'algorithm/ed25519': 'Ed25519',
  'algorithm/sha1': 'SHA-1',
  'algorithm/sha256': 'SHA-256',
  'algorithm/sha512': 'SHA-512',
  'kind/user': 'Of people',
  'outcome/released': 'Given back',
  'retry_backoff/fixed': 'Always 30 seconds',
  'retry_backoff/linear': '30 seconds longer each time',
  'role/user': 'A person',
};

/** Returns a value of a list of values as people see it: `internal_agent` becomes `An agent`. */
export const valueWords = (value: string, field: string): string => {
  const known =
    OF_FIELD[`${field}/${value}`] ?? (field === 'provider' && providerLabel(value) !== value ? providerLabel(value) : VALUES[value]);
  if (known !== undefined) return known;
  if (!/^[a-z][a-z0-9]*(?:_[a-z0-9]+)*$/.test(value)) return value.replaceAll('_', ' ');
  const words = value.replaceAll('_', ' ');
  return words.slice(0, 1).toUpperCase() + words.slice(1);
};

/** Matches what only readers of the API need: code, and names and states of fields. */
const OF_API =
  /`|\bnull\b|\babsent\b|\bomitted\b|\b[A-Za-z0-9]+_[A-Za-z0-9_]+\b|\b(?:response|request|endpoint|caller|JSON pointer|RFC 3339|[45]\d\d)\b/i;

/** Whether people can read a text without knowing the API. */
export const isForPeople = (text: string): boolean => !OF_API.test(text);

/** Returns the first sentence of a description if it is for people; otherwise null. */
export const sentenceForPeople = (text: string): string | null => {
  const [first = ''] = text.split(/[;:](?=\s)|\.(?=\s)|\.$/);
  return first.trim() !== '' && isForPeople(first) ? first.trim() : null;
};

/** Help that replaces the description of a field in the API's documents; null if the label says all. */
const HELP: Readonly<Record<string, string | null>> = {
  name: null,
  label: null,
  email: null,
  agent_id: null,
  start_date: null,
  end_date: null,
  reason: null,
  provider: null,
  cron_expr: 'Minute, hour, day, month and weekday',
  timezone: null,
  fire_at: null,
  interval_minutes: null,
  retry_backoff: 'Time between attempts',
  schedule_type: null,
  role: null,
};

/** Returns the sentence that helps people to fill in a field; null if there is none. */
export const helpFor = (name: string, description: unknown): string | null => {
  if (Object.hasOwn(HELP, name)) return HELP[name]!;
  return typeof description === 'string' ? sentenceForPeople(description) : null;
};
