import { z } from 'zod';
import { publicIdOf } from '../domain/identity/api-key-format.ts';
import { cleanPasted, hiddenCharacter } from '../domain/pasted-text.ts';

export const checkedText = (message: string, isValid: (value: string) => boolean) => z.string().refine(isValid, message);

/** A base URL: no query or fragment, because paths are appended, and no user name, which HTTP clients would not send. */
export const webUrl = checkedText('must be a URL that begins with http:// or https://, without a user, query or fragment', (value) => {
  if (!URL.canParse(value)) return false;
  const { protocol, username, password, search, hash } = new URL(value);
  return /^https?:$/.test(protocol) && [username, password, search, hash].every((part) => part === '');
});

export const apiKey = checkedText('must be an API key (ann_…) with correct check digits', (value) => publicIdOf(value) !== null);

export const clientVariables = {
  ANNALS_DATA: z.string().default('.annals'),
  ANNALS_URL: webUrl.optional(),
  ANNALS_KEY: apiKey.optional(),
};

type Camel<S extends string> = S extends `${infer Head}_${infer Tail}` ? `${Lowercase<Head>}${Capitalize<Camel<Tail>>}` : Lowercase<S>;
export type CamelFields<Variables> = { readonly [K in keyof Variables as Camel<K & string>]: Variables[K] };
export type Environment = Readonly<Record<string, string | undefined>>;

const camel = (name: string): string => name.toLowerCase().replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());

export const camelFields = <Variables extends object>(values: Variables): CamelFields<Variables> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [camel(name), value])) as CamelFields<Variables>;

/** Matches the names of variables with keys, secrets and tokens, which people copy from elsewhere. */
const COPIED = /(?:_KEY|_SECRET|_TOKEN|_SEED|_CLIENT_ID)$|^GIT_TOKEN_/;

/** Removes what copying adds, such as a line end, or the quotation marks of an env file. */
const cleaned = ([name, value]: [string, string | undefined]): [string, string | undefined] => {
  if (value === undefined || !COPIED.test(name)) return [name, value];
  const text = cleanPasted(value);
  const hidden = hiddenCharacter(text);
  if (hidden) throw new Error(`${name} contains ${hidden}: copy the value again`);
  return [name, text];
};

/**
 * An empty variable counts as not set. Those that `isRead` does not select belong to other programs.
 * @throws Error that names a variable with hidden characters
 */
export const setVariables = (env: Environment, isRead: (name: string) => boolean): Record<string, string> =>
  Object.fromEntries(
    Object.entries(env)
      .filter(([name]) => isRead(name))
      .map(cleaned)
      .filter((entry): entry is [string, string] => !!entry[1]),
  );

/** @throws Error with a one-line message that names the malformed variable, but not its value */
export const parseVariables = <Schema extends z.ZodType>(schema: Schema, set: Readonly<Record<string, string>>): z.output<Schema> => {
  // Zod would compile the schema, which takes longer than to parse with it once.
  const { data, error } = schema.safeParse(set, { jitless: true });
  if (data !== undefined) return data;
  const [issue] = error!.issues;
  throw new Error(`${issue?.path.join('.')} ${issue?.message}`);
};
