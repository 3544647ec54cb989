const SCHEMES = /^(esdb|kurrentdb|kurrent|kdb)(\+discover)?$/;
const SCHEME_FORMS = 'esdb://, esdb+discover://, kurrentdb:// or kurrentdb+discover://';

/** The options of a connection string, as the client compares them: in lower case, without - and _. */
const OPTIONS: ReadonlySet<string> = new Set(
  (
    'connectionName defaultDeadline discoveryInterval gossipTimeout keepAliveInterval keepAliveTimeout maxDiscoverAttempts ' +
    'nodePreference throwOnAppendFailure tls tlsCAFile tlsVerifyCert userCertFile userKeyFile'
  )
    .toLowerCase()
    .split(' '),
);
const BOOLEANS: ReadonlySet<string> = new Set(['tls', 'tlsverifycert', 'throwonappendfailure']);
const PREFERENCES: ReadonlySet<string> = new Set(['leader', 'follower', 'readonlyreplica', 'random']);

const flat = (text: string): string => text.trim().toLowerCase().replace(/[_-]/g, '');

type Parts = { readonly scheme: string; readonly user: string | null; readonly hosts: readonly string[]; readonly options: string };

const partsOf = (url: string): Parts | null => {
  const found = /^([a-z+]+):\/\/(?:([^?]*)@)?([^@?]*?)\/*(?:\?(.*))?$/.exec(url.trim());
  if (!found) return null;
  const [, scheme = '', user, hosts = '', options = ''] = found;
  return { scheme, user: user ?? null, hosts: hosts.split(','), options };
};

const hostProblem = (host: string): string | null => {
  if (host === '') return 'must name a host after the scheme and after each comma';
  if (host.includes('://')) return 'must have the scheme only once: esdb://node1:2113,node2:2113,node3:2113';
  if (host.includes('/')) return 'must not have a path after the hosts';
  const [name = '', port = '2113', ...rest] = host.split(':');
  if (rest.length > 0) return 'must name hosts by name or IPv4 address: IPv6 addresses are not supported';
  if (!/^\d{1,5}$/.test(port) || Number(port) < 1 || Number(port) > 65_535) return 'must have a port from 1 to 65535 after each colon';
  return /^[\w.-]+$/.test(name) ? null : 'must name hosts by name or IPv4 address, separated by commas';
};

const userProblem = (user: string | null): string | null => {
  if (user === null) return null;
  return /^[^:@/#]+:[^:@/#]+$/.test(user) ? null : 'must have <user>:<password> before @, with : / ? # @ and % in them percent-encoded';
};

const optionProblem = (option: string): string | null => {
  const at = option.indexOf('=');
  const [name, value] = [flat(option.slice(0, Math.max(at, 0))), option.slice(at + 1)];
  if (at < 1 || value === '') return 'must have options of the form name=value, separated by &';
  if (!OPTIONS.has(name)) return 'has an option that the client does not know: see docs/clusters.md';
  if (BOOLEANS.has(name) && !/^(true|false)$/.test(value)) return 'must have true or false for tls, tlsVerifyCert and throwOnAppendFailure';
  if (name === 'tlsverifycert' && value === 'false')
    return 'cannot switch off the check of certificates: name the CA that signed them with tlsCAFile=<file>';
  if (name === 'nodepreference' && !PREFERENCES.has(flat(value)))
    return 'must have leader, follower, random or readOnlyReplica for nodePreference';
  return /(interval|timeout|deadline|attempts)$/.test(name) && !/^-?\d+$/.test(value)
    ? 'must have a number for intervals and limits'
    : null;
};

/** The end of a sentence that begins with the variable's name, without any part of the URL; null if well-formed. */
export const storeUrlProblem = (url: string): string | null => {
  const parts = partsOf(url);
  if (!parts || !SCHEMES.test(parts.scheme)) return `must begin with ${SCHEME_FORMS}`;
  const options = parts.options === '' ? [] : parts.options.split('&');
  const problems = [...parts.hosts.map(hostProblem), userProblem(parts.user), ...options.map(optionProblem)];
  return problems.find((problem) => problem !== null) ?? null;
};

/** In a cluster, the client searches for the nodes, and a node can refer it to another one. */
const isCluster = ({ scheme, hosts }: Parts): boolean => hosts.length > 1 || scheme.endsWith('+discover');

/** `name` is in lower case. Undefined if the URL does not set the option. */
const optionOf = ({ options }: Parts, name: string): string | undefined =>
  options
    .split('&')
    .map((option) => option.split('='))
    .find(([each = '']) => flat(each) === name)?.[1];

/** Returns whether the URL names a cluster and prefers its leader, which is the default. */
export const isLeaderWanted = (url: string): boolean => {
  const parts = partsOf(url);
  return parts !== null && isCluster(parts) && flat(optionOf(parts, 'nodepreference') ?? 'leader') === 'leader';
};

/**
 * Timeouts that are shorter than the client's defaults. A node counts as lost if it does not answer a ping of its
 * connection for 3 s, or a gossip request for 2 s. A frozen node, or one behind a cut network, does not close the
 * connection.
 */
const CLUSTER_OPTIONS = { keepAliveTimeout: 3_000, gossipTimeout: 2 };

const withClusterOptions = (url: string, parts: Parts): string => {
  const missing = Object.entries(CLUSTER_OPTIONS).filter(([name]) => optionOf(parts, flat(name)) === undefined);
  if (!isCluster(parts) || missing.length === 0) return url;
  return `${url}${parts.options === '' ? '?' : '&'}${missing.map((option) => option.join('=')).join('&')}`;
};

/** With several hosts, drops +discover, with which the client would use only the first. Adds shorter timeouts for a cluster. */
export const toClientUrl = (url: string): string => {
  const parts = partsOf(url);
  if (!parts || !SCHEMES.test(parts.scheme)) return url;
  const scheme = parts.scheme.endsWith('+discover') && parts.hosts.length === 1 ? 'esdb+discover' : 'esdb';
  return withClusterOptions(url.trim().replace(parts.scheme, scheme), parts);
};

/** Empty if the URL names only one node. */
export const nodeUrls = (url: string): { readonly host: string; readonly url: string }[] => {
  const parts = partsOf(url);
  if (!parts || !isCluster(parts)) return [];
  const user = parts.user === null ? '' : `${parts.user}@`;
  const options = parts.options === '' ? '' : `?${parts.options}`;
  return parts.hosts.map((host) => ({ host, url: `esdb://${user}${host}${options}` }));
};
