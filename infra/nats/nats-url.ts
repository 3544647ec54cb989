const FORMS = 'must be URLs that begin with nats:// or tls://, separated by commas';

const urlOf = (text: string): URL | null => (URL.canParse(text) ? new URL(text) : null);

/** The end of a sentence that begins with the variable's name, without any part of the URL; null if well-formed. */
export const natsUrlProblem = (text: string): string | null => {
  const urls = text.split(',').map((part) => urlOf(part.trim()));
  const known = urls.filter((url) => url !== null && /^(nats|tls):$/.test(url.protocol) && url.hostname !== '') as URL[];
  if (known.length < urls.length) return FORMS;
  if (known.some(({ pathname, search, hash }) => !/^\/?$/.test(pathname) || search !== '' || hash !== ''))
    return 'must not have a path, options or a fragment after the hosts';
  if (known.some(({ username, password }) => (username === '') !== (password === '')))
    return 'must have both a user and a password before @, or none; for credentials of an account, set NATS_ACCOUNT_SEED';
  if (new Set(known.map(({ protocol }) => protocol)).size > 1) return 'must begin with tls:// for all servers or for none';
  const [first, ...others] = known.map(({ username, password }) => (username === '' ? null : `${username}:${password}`));
  if (others.some((user) => user !== null && user !== first))
    return 'must have the same user and password for all servers: those of the first are used';
  return null;
};
