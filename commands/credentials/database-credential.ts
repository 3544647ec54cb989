import { z } from 'zod';
import * as LinkedIdentity from '../../domain/credentials/linked-identity.ts';
import { displayText, integer, text } from '../../domain/fields.ts';
import { hiddenCharacter, trimHidden } from '../../domain/pasted-text.ts';
import { invalid } from '../../domain/refusal.ts';
import { secret } from '../../domain/secret.ts';
import type { Ctx, Input, Loaded } from '../context.ts';
import { identitySecret } from './linked-identity.ts';

/** Metadata services of cloud providers: no credential can be stored for them. */
const FORBIDDEN_HOST = /^(?:169\.254(?:\.\d+){2}|168\.63\.129\.16|100\.100\.100\.200|metadata(?:\.google\.internal)?\.?)$/i;

export const DatabaseCredentialAdd = z
  .strictObject({
    database: displayText(1, 63)
      .refine((name) => !name.includes(':'), 'must not contain a colon')
      .meta({ description: 'The name of the database, without a colon', examples: ['orders'] }),
    host: z
      .string()
      .regex(/^[A-Za-z0-9._-]{1,52}$/, 'must be 1 to 52 letters, digits, dots, hyphens and underscores')
      .refine((host) => !FORBIDDEN_HOST.test(host), 'must not be the address of a metadata service')
      .meta({ description: 'The host of the database server. A tenant has one credential for each host', examples: ['db.example.com'] }),
    port: integer(1, 65_535)
      .default(5432)
      .meta({ description: 'The port of the database server', examples: [5432] }),
    username: displayText(1, 63).meta({ description: 'The user of the database', examples: ['reporting'] }),
    password: text(1, 1024).meta({ description: 'The password. It is stored encrypted, and never returned', examples: ['<password>'] }),
    sslmode: z.enum(LinkedIdentity.SSL_MODES).default('require').meta({ description: 'How TLS is used, as in libpq' }),
    test_connection: z
      .boolean()
      .default(false)
      .meta({ description: 'Whether to connect to the database first. The credential is stored only if that succeeds' }),
  })
  .meta({ id: 'DatabaseCredentialAdd' });

/** Null if the connection could be opened; otherwise why not, and the wrong field of DatabaseCredentialAdd. */
export type TestDatabase = (
  access: LinkedIdentity.DatabaseAccess,
  password: string,
) => Promise<{ readonly field: 'host' | 'database' | 'username' | 'password' | 'sslmode'; readonly message: string } | null>;

const checkConnection = async (test: TestDatabase, access: LinkedIdentity.DatabaseAccess, password: string): Promise<void> => {
  const fault = await test(access, password);
  if (fault) throw invalid(`/${fault.field}`, fault.message, 'connection_failed');
};

/** Drops the line end and invisible characters that copying adds. @throws Refusal invalid if it has an invisible character within */
const readPassword = (pasted: string): string => {
  const password = trimHidden(pasted);
  if (password === '') throw invalid('/password', 'must not be empty', 'too_small');
  const hidden = hiddenCharacter(password);
  if (hidden) throw invalid('/password', `contains ${hidden}: copy it again, or type it`);
  return password;
};

/** Replaces the access to the same host. @throws Refusal invalid if a tested connection cannot be opened */
export const storeDatabaseCredential =
  (test: TestDatabase) =>
  async (
    ctx: Ctx,
    { tenant_id, password: pasted, test_connection, ...access }: Input<typeof DatabaseCredentialAdd, 'tenant_id'>,
  ): Promise<Loaded<LinkedIdentity.LinkedIdentity>> => {
    const { host, port, database, username, sslmode } = access;
    const password = readPassword(pasted);
    const ordered = { host: host.toLowerCase(), port, database, username, sslmode };
    const id = ctx.secrets.uniqueId(LinkedIdentity.KIND, LinkedIdentity.identityKey(tenant_id, LinkedIdentity.databaseProvider(host)));
    const location = identitySecret(ctx.tenant, id);
    const { state } = await ctx.load(LinkedIdentity, id);
    const { isSame, existed } = await ctx.sideEffect(async () => {
      if (test_connection) await checkConnection(test, ordered, password);
      const current = state.status === 'linked' && state.sealed !== null ? (await ctx.secrets.open(location, state.sealed)).reveal() : null;
      return { isSame: current === password, existed: state.status === 'linked' };
    });
    const sealed = await ctx.secrets.seal(location, secret(password));
    const store = LinkedIdentity.storeDatabase(ordered, sealed, isSame);
    return { ...(await ctx.transact(LinkedIdentity, id, store)), existed };
  };
