import type { ProviderDefinition, RetrySchedule } from '../../domain/integrations/conventions/provider-definition.ts';
import type { SignatureScheme } from '../../domain/integrations/conventions/signature-scheme.ts';
import { anyHeader } from '../../domain/integrations/header-name.ts';
import { PROVIDER_DEFINITIONS, type Provider } from '../../domain/integrations/provider.ts';

const UNITS = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1],
] as const;

export const timeOf = (seconds: number): string => {
  const [unit, size] = UNITS.find(([, each]) => seconds % each === 0)!;
  return `${seconds / size} ${unit}`;
};

/** Returns the delays as a text in which equal ones are counted, such as `5 min, 3 × 1 h`. */
export const delaysOf = ({ delaysSeconds }: RetrySchedule): string =>
  Object.entries(Object.groupBy(delaysSeconds.map(timeOf), (time) => time))
    .map(([time, equals]) => (equals!.length > 1 ? `${equals!.length} × ${time}` : time))
    .join(', ') || 'none';

/** What else than the service itself sends such deliveries, and what differs between its editions. */
const EDITIONS: Readonly<Partial<Record<Provider, string>>> = {
  github:
    'GitHub and GitHub Enterprise, and for Gitea, Forgejo and Gogs: choose their own type of webhook there, with the content type application/json.',
  gitlab: 'GitLab.com, and your own GitLab if the form has a signing token. Otherwise use the next one.',
  gitlab_token: 'every GitLab.',
  bitbucket: 'Cloud and Data Center. Data Center tests an address with a request that is not signed; Annals answers it.',
  jira: 'Cloud and Data Center.',
  standard_webhooks: 'every service that follows standardwebhooks.com, such as those that send with Svix.',
  custom_hmac: 'every service that signs its requests with an HMAC, and your own.',
};

const ALGORITHMS: Readonly<Record<SignatureScheme['algorithm'], string>> = {
  sha256: 'HMAC-SHA-256',
  sha1: 'HMAC-SHA-1',
  sha512: 'HMAC-SHA-512',
  ed25519: 'Ed25519',
  token: 'the secret itself',
};

const signedOf = (provider: Provider, { scheme }: ProviderDefinition): string => {
  if (provider === 'custom_hmac') return 'as the `options` of the integration say.';
  const { algorithm, headers, template, timestamp, encoding } = scheme;
  const headerText = `in the header ${anyHeader(headers)}`;
  if (algorithm === 'token') return `nothing; ${ALGORITHMS.token} is ${headerText}.`;
  const tolerance = timestamp ? `; its time may differ by ${timestamp.toleranceSeconds} s` : '';
  return `\`${template}\`, with ${ALGORITHMS[algorithm]} in ${encoding}, ${headerText}${tolerance}.`;
};

const secretOf = ({ secret }: ProviderDefinition): string => {
  if (secret?.issuedAs === undefined) return 'Annals creates one, or you give yours.';
  return `the ${secret.issuedAs} of the provider, which connecting needs as \`secret\`.`;
};

const retriesOf = ({ retries }: ProviderDefinition): string => {
  if (!retries) return 'as the service does it.';
  const byHand = retries.byHandSeconds > 0 ? `; by hand within ${timeOf(retries.byHandSeconds)}` : '';
  const delays = delaysOf(retries);
  return delays === 'none' ? `none${byHand}.` : `after ${delays}${byHand}.`;
};

const sectionOf = (provider: Provider, definition: ProviderDefinition): string => {
  const editions = EDITIONS[provider];
  return [
    `## ${definition.label}\n`,
    ...definition.setup.map((step, index) => `${index + 1}. ${step}`),
    '',
    `- \`provider\`: \`${provider}\``,
    ...(editions ? [`- For ${editions}`] : []),
    `- Secret: ${secretOf(definition)}`,
    `- Signed: ${signedOf(provider, definition)}`,
    `- Sent again: ${retriesOf(definition)}`,
    ...(definition.handshake ? ['- Checks the address: yes, with a signed request that Annals answers.'] : []),
    '',
  ].join('\n');
};

const START = `# Set up a webhook at its provider

Each section says where to enter the address of an integration at a provider, what is signed, and when a delivery is sent again. Connect the integration first: in the console
(*Integrations*, *Connect a provider*), or as in [Webhooks](webhooks.md#a-real-github-repository). Its page shows the address, and the secret once. In *Signed*, \`{body}\` stands for the bytes of the
request, \`{timestamp}\` for the signed time, \`{id}\` for the delivery id, and \`{url}\` for the address with the fields of a form. [Webhook providers](webhook-providers.md) has the details.
`;

/** Returns the text of docs/provider-setup.md. It comes from the definitions of the providers. */
export const providerGuide = (): string =>
  `${START}\n${(Object.entries(PROVIDER_DEFINITIONS) as [Provider, ProviderDefinition][]).map(([name, one]) => sectionOf(name, one)).join('\n')}`;
