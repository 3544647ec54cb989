const MASK = '[secret]';
/** Shorter values are in too many words to be replaced. */
const MIN_LENGTH = 4;
/** Settings contain ordinary words, too, so only longer values of them count as secrets. */
const MIN_SETTING_LENGTH = 6;
const MIN_LINE_LENGTH = 16;
const SECRET_VARIABLE = /SECRET|TOKEN|PASSW|PASSPHRASE|CREDENTIAL|KEY|AUTH(?!OR)/i;

type Runtime = {
  readonly credentials?: readonly { readonly secret?: unknown; readonly url?: unknown }[];
  readonly repo?: { readonly token?: unknown } | null;
  readonly models?: readonly { readonly config?: unknown }[];
  readonly skills?: readonly { readonly config?: unknown }[];
  readonly tools?: readonly { readonly configuration?: unknown }[];
};

const valuesIn = (value: unknown): string[] => {
  if (typeof value === 'string' || typeof value === 'number') return [String(value)];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(valuesIn) : [];
};

const atLeast = (values: readonly string[], length: number): string[] => values.filter((value) => value.length >= length);

/** A text that is not encoded correctly is returned as it is. */
const decodedPart = (part: string): string => {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
};

/** The protocols in whose URLs a user name without a password is usually a token. */
const TOKEN_PROTOCOLS: ReadonlySet<string> = new Set(['https:', 'http:', 'wss:', 'ws:', 'nats:', 'tls:']);

/** Returns the password of a URL, or its user name if that is a token, and its query values, which can be secrets. */
export const secretsOfUrl = (url: string): string[] => {
  if (!URL.canParse(url)) return [];
  const { protocol, username, password, searchParams } = new URL(url);
  const token = password === '' && TOKEN_PROTOCOLS.has(protocol) ? username : '';
  return [
    ...atLeast([decodedPart(token), token], MIN_SETTING_LENGTH),
    ...atLeast([decodedPart(password), password, ...searchParams.values()], MIN_LENGTH),
  ];
};

/** Returns the secrets in the runtime of an agent: its credentials and its token, and all settings of models, skills and tools. */
const secretsOfRuntime = (body: string): string[] => {
  const { credentials = [], repo, models = [], skills = [], tools = [] } = JSON.parse(body) as Runtime;
  const settings = [
    ...models.map(({ config }) => config),
    ...skills.map(({ config }) => config),
    ...tools.map((tool) => tool.configuration),
  ];
  return [
    ...atLeast(valuesIn([credentials.map(({ secret }) => secret), repo?.token]), MIN_LENGTH),
    ...credentials.flatMap(({ url }) => (typeof url === 'string' ? secretsOfUrl(url) : [])),
    ...atLeast(valuesIn(settings), MIN_SETTING_LENGTH),
  ];
};

const secretsOfVariables = (variables: NodeJS.ProcessEnv): string[] =>
  Object.entries(variables).flatMap(([name, value = '']) =>
    SECRET_VARIABLE.test(name) ? atLeast([value], MIN_SETTING_LENGTH) : value.includes('://') ? secretsOfUrl(value) : [],
  );

/** Returns a secret, its longer lines, and the forms in which programs print it. */
const formsOf = (secret: string): string[] => {
  const lines = secret.includes('\n') ? atLeast(secret.split(/\r?\n/), MIN_LINE_LENGTH) : [];
  const bytes = Buffer.from(secret);
  const encoded = [bytes.toString('base64'), bytes.toString('base64url'), bytes.toString('hex'), encodeURIComponent(secret)];
  return [secret, ...lines, JSON.stringify(secret).slice(1, -1), ...encoded];
};

/** Matches the credentials of basic authentication in a header. */
const BASIC_CREDENTIALS = /\b(basic\s{1,8})([\w+/-]{6,}={0,2})/gi;

/** Replaces credentials of basic authentication that contain one of these secrets. */
const maskBasic = (text: string, secrets: readonly string[]): string =>
  text.replace(BASIC_CREDENTIALS, (whole, scheme: string, encoded: string) => {
    const decoded = Buffer.from(encoded, 'base64').toString();
    return secrets.some((secret) => decoded.includes(secret)) ? `${scheme}${MASK}` : whole;
  });

/** The secrets that a runner knows. Its reports must not contain them. */
export type KnownSecrets = {
  /** Adds the secrets in the runtime of the agent, as the service has sent it. */
  readonly learn: (runtime: string) => void;
  /** Replaces all known secrets in a text, also in the forms in which programs print them. */
  readonly mask: (text: string) => string;
  /** The length of the longest known secret. A shorter part at the start of a cut text can belong to it. */
  readonly longest: () => number;
};

/** `secrets` are known from the start, as are the variables of this process that contain secrets by their names. */
export const createKnownSecrets = (secrets: readonly string[], variables: NodeJS.ProcessEnv = process.env): KnownSecrets => {
  const initial = [...secrets, ...secretsOfVariables(variables)].flatMap(formsOf);
  const inOrder = (all: readonly string[]): string[] => [...new Set(all)].sort((one, other) => other.length - one.length);
  let known = inOrder(initial);
  let learned = '';
  return {
    learn: (runtime) => {
      if (runtime === learned) return;
      learned = runtime;
      // An event that began earlier can still print a secret of the runtime before.
      known = inOrder([...known, ...secretsOfRuntime(runtime).flatMap(formsOf)]);
    },
    mask: (text) => known.reduce((masked, secret) => masked.replaceAll(secret, MASK), maskBasic(text, known)),
    longest: () => known[0]?.length ?? 0,
  };
};
