import { z } from 'zod';
import { SSL_MODES } from '../../domain/credentials/linked-identity.ts';
import { Timestamp } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';

const ofDatabase = <T extends z.ZodType>(field: T, description: string, example: z.output<T>) =>
  field.nullable().meta({ description: `${description}; null for an account`, examples: [example] });

/** An account or a database password as a runtime shows it, with its secret. */
export const RuntimeCredential = z.object({
  identity_id: idOf('linked identity'),
  owner: z
    .enum(['agent', 'tenant'])
    .meta({ description: 'Whether it is an account of the agent itself, or was given to it by the tenant' }),
  provider: z.string().meta({ description: 'The service: the id of a provider, or `db:postgres:` and a host', examples: ['github'] }),
  label: z.string().meta({ description: 'The name that people see', examples: ['octocat'] }),
  secret: z.string().meta({ description: 'The token or password', examples: ['<secret>'] }),
  scopes: z.array(z.string()).meta({ description: 'What the provider allows with the token', examples: [['repo']] }),
  expires_at: Timestamp.nullable().meta({
    description: 'When the token expires; the platform renews it before. Null if it does not expire',
    examples: [null],
  }),
  host: ofDatabase(z.string(), 'The host of the database server', 'db.example.com'),
  port: ofDatabase(z.int(), 'The port of the database server', 5432),
  database: ofDatabase(z.string(), 'The name of the database', 'orders'),
  user: ofDatabase(z.string(), 'The user of the database', 'reporting'),
  sslmode: ofDatabase(z.enum(SSL_MODES), 'How TLS is used, as in libpq', 'require'),
  url: ofDatabase(
    z.string(),
    'The URL with which a Postgres client connects, with the password',
    'postgresql://reporting:%3Csecret%3E@db.example.com:5432/orders?sslmode=require',
  ),
});
