/** Names of fields that contain a secret. */
export const SECRET_NAMES: ReadonlySet<string> = new Set(['password', 'secret', 'value', 'token']);

/** Returns a JSON body without its secrets, for pages that show API calls. `path` is the path of the call. */
export const withoutSecrets = (path: string, body: string): string => {
  const isSecret = (name: string) => SECRET_NAMES.has(name) || (name === 'config' && path.endsWith('/config'));
  return JSON.stringify(JSON.parse(body), (name, value: unknown) => (isSecret(name) ? '…' : value));
};
