import { type ConnectionOptions, checkServerIdentity } from 'node:tls';
import pg from 'pg';
import type { TestDatabase } from '../../commands/credentials/database-credential.ts';
import type { DatabaseAccess } from '../../domain/credentials/linked-identity.ts';
import { checkedAddressOf } from '../egress/checked-address.ts';
import { EgressError } from '../egress/egress-error.ts';
import { createEgressRules, type EgressRuleOptions } from '../egress/egress-rules.ts';

const TIMEOUT_MS = 5_000;

type Fault = Awaited<ReturnType<TestDatabase>>;
type Tls = false | ConnectionOptions;

/** Returns the ways to connect that a mode allows, in the order in which they are tried. */
const waysOf = ({ sslmode, host }: DatabaseAccess): readonly Tls[] => {
  const encrypted: Tls = { rejectUnauthorized: false, servername: host };
  switch (sslmode) {
    case 'disable':
      return [false];
    case 'allow':
      return [false, encrypted];
    case 'prefer':
      return [encrypted, false];
    case 'require':
      return [encrypted];
    case 'verify-ca':
      return [{ servername: host, checkServerIdentity: () => undefined }];
    case 'verify-full':
      return [{ servername: host, checkServerIdentity: (_, certificate) => checkServerIdentity(host, certificate) }];
  }
};

/**
 * Returns the connection setting that caused an error, and our own message for it. The message does not contain the
 * server's error text.
 */
const faultOf = ({ code = '', message }: Error & { code?: string }, { host, port }: DatabaseAccess): Fault => {
  if (code === '28P01') return { field: 'password', message: 'the server does not accept this password' };
  if (code.startsWith('28')) return { field: 'username', message: 'the server does not accept this user' };
  if (code === '3D000') return { field: 'database', message: 'the server has no such database' };
  if (/SSL|TLS|certificate|altname/i.test(`${code} ${message}`))
    return { field: 'sslmode', message: 'no TLS connection as this mode demands it can be opened' };
  return { field: 'host', message: `no database answers at ${host}:${port}` };
};

const connect = async (access: DatabaseAccess, password: string, address: string, ssl: Tls): Promise<void> => {
  const { port, database, username: user } = access;
  const client = new pg.Client({
    ...{ host: address, port, database, user, password, ssl },
    connectionTimeoutMillis: TIMEOUT_MS,
    query_timeout: TIMEOUT_MS,
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query('select 1');
  } finally {
    client.end().catch(() => undefined);
  }
};

/**
 * Creates the function that tests the connection to a tenant's own database. It connects only to addresses that
 * `options` allow.
 */
export const createDatabaseTest = (options: EgressRuleOptions): TestDatabase => {
  const rules = createEgressRules(options);
  return async (access, password) => {
    const { host: hostname, port } = access;
    let last: Error | undefined;
    try {
      const address = await checkedAddressOf(rules, { hostname, port });
      for (const way of waysOf(access)) {
        const failed = await connect(access, password, address, way).catch((error: Error) => error);
        if (!failed) return null;
        last = failed;
      }
    } catch (error) {
      if (error instanceof EgressError) return { field: 'host', message: error.message };
      throw error;
    }
    return faultOf(last!, access);
  };
};
