/** Describes one variable of the environment, or several that belong together. */
type VariableRow = {
  /** Angle brackets mark the part of a name that varies. */
  readonly names: readonly string[];
  /** What the value means, in Markdown. Links lead to other pages of docs/. */
  readonly meaning: string;
  /** The default of each variable, in the order of `names`, in Markdown. */
  readonly initial?: readonly string[];
};

/** The rows of the table in docs/configuration.md, from which `--help` takes its descriptions, too. */
export const VARIABLE_ROWS: readonly VariableRow[] = [
  {
    names: ['PORT', 'HOST'],
    meaning:
      'where the API listens. On a loopback address, requests with the name of another host than this machine and `PUBLIC_URL` get 421',
    initial: ['4100', '127.0.0.1'],
  },
  {
    names: ['PUBLIC_URL'],
    meaning: 'the URL at which clients reach the API; part of webhook URLs (also of integrations made before) and of messages to runners',
    initial: ['`http://HOST:PORT`'],
  },
  { names: ['ANNALS_DATA'], meaning: 'the data directory', initial: ['`.annals/`'] },
  {
    names: ['ANNALS_ADMIN_KEY'],
    meaning:
      'an API key that the first start gives the super-admin, instead of a generated one; `annals keys new` prints a well-formed one. Later starts only check it',
  },
  {
    names: ['EVENTSTORE_URL'],
    meaning: 'an EventStoreDB / KurrentDB node or cluster, `esdb://…` or `kurrentdb://…` (see [Clusters](clusters.md))',
    initial: ['embedded'],
  },
  {
    names: ['DATABASE_URL'],
    meaning: 'a Postgres (15 or later), `postgres://…`; searches are fast if it has the extensions `pg_trgm` and `btree_gin`',
    initial: ['embedded'],
  },
  {
    names: ['NATS_URL'],
    meaning: 'a NATS server or cluster with JetStream (2.10.23 or later; an older one is used with a warning)',
    initial: ['embedded'],
  },
  {
    names: ['NATS_ACCOUNT_SEED'],
    meaning:
      'the private seed of the NATS account (`SA…`), that holds the streams; with it Annals signs the short-lived credentials of itself (see [Clusters](clusters.md))',
    initial: ['embedded'],
  },
  {
    names: ['NATS_RUNNER_ACCOUNT_SEED'],
    meaning:
      'the seed of the NATS account that signs the credentials of runners; without it `NATS_ACCOUNT_SEED` signs them, which is unsafe (see [Clusters](clusters.md))',
    initial: ['embedded'],
  },
  {
    names: ['BLOBS_URL'],
    meaning:
      'where files are stored: `s3://<key id>:<secret>@<bucket>?region=<region>`, `https://<key id>:<secret>@<host>/<bucket>` for any other store with the S3 API, or `file:///<directory>` (see [Files](files.md)); `serve` needs it for files',
    initial: ['`annals start`: `ANNALS_DATA/blobs`'],
  },
  {
    names: ['MASTER_KEY_FILE'],
    meaning: 'the key that encrypts every other key; **back it up, but not together with the log**',
    initial: ['`ANNALS_DATA/master.key`'],
  },
  { names: ['LOG_LEVEL'], meaning: '`trace` `debug` `info` `warn` `error` `fatal` `silent`', initial: ['`info`'] },
  {
    names: ['METRICS_TOKEN'],
    meaning:
      '`/metrics` is open to this machine only, and with a public `PUBLIC_URL` to nobody. To read it then, from elsewhere, or through a proxy, set a token and send it as `Authorization: Bearer`',
  },
  {
    names: ['METRICS_PORT', 'METRICS_HOST'],
    meaning: 'where `work` serves its own `/metrics`; without a port it does not',
    initial: ['none', '127.0.0.1'],
  },
  { names: ['TRUSTED_PROXIES'], meaning: 'IP addresses or ranges of proxies whose `X-Forwarded-For` is trusted' },
  { names: ['CORS_ORIGINS'], meaning: 'origins from which browsers may call the API, or `*`' },
  {
    names: ['EGRESS_ALLOW'],
    meaning:
      'hosts to which Annals sends requests although they are not on the internet: names or IP addresses, each also with a port, and ranges, separated by commas (see [Requests to your own network](configuration.md#requests-to-your-own-network))',
  },
  {
    names: ['AUDIT_ANCHOR_URL'],
    meaning:
      'a URL outside the platform to which `work` posts each signed head of the audit logs; with `EGRESS_ALLOW` it may be on the own network (see [Audit proofs and export](audit.md#audit-proofs-and-export))',
  },
  {
    names: ['OAUTH_<PROVIDER>_CLIENT_ID', 'OAUTH_<PROVIDER>_CLIENT_SECRET'],
    meaning:
      'the OAuth client of this installation at a provider: `BITBUCKET`, `DISCORD`, `GITHUB`, `GITLAB`, `GOOGLE`, `JIRA`, `LINEAR`, `SLACK` or `ZOOM` (see [Credentials and accounts](credentials.md))',
  },
  {
    names: ['GIT_TOKEN_<HOST>'],
    meaning:
      'the token for private repositories of a git host, as `<token>` or `<user>:<token>`; in the name, `_` stands for a dot and `__` for a hyphen, as in `GIT_TOKEN_GIT_EXAMPLE_COM` (see [Code repositories](skills.md#code-repositories))',
  },
  { names: ['CLAMAV_URL'], meaning: 'the daemon of ClamAV that checks scanned files, `tcp://host:port` (see [Files](files.md))' },
  {
    names: ['MAIL_DOMAIN'],
    meaning: 'the domain of the mail addresses of agents; without it, agents have no mailboxes (see [Mail](mail.md))',
  },
  {
    names: ['SMTP_URL'],
    meaning:
      'the server that takes external mail: `smtp://<user>:<password>@<host>:587` or `smtps://…`; without it, agents write to agents of their tenant only (see [Mail](mail.md))',
  },
  {
    names: ['SMTP_LISTEN'],
    meaning: 'the `host:port`, or the port of 127.0.0.1, at which `serve` receives external mail (see [Mail](mail.md))',
  },
  {
    names: ['STRIPE_SECRET_KEY'],
    meaning: 'the key of the Stripe account that takes the payments; without it, there are none (see [Payments](budgets.md#payments))',
  },
  {
    names: ['STRIPE_WEBHOOK_SECRET'],
    meaning: 'the signing secrets of the webhook endpoints at Stripe, separated by commas (see [Payments](budgets.md#payments))',
  },
  { names: ['ANNALS_URL', 'ANNALS_KEY'], meaning: 'the URL of the API and an API key, for the runner and the command line' },
  { names: ['OIDC_ISSUER'], meaning: 'an OpenID provider whose users may sign in (see [Signing in](access.md))' },
  { names: ['OIDC_AUDIENCE'], meaning: 'the audience that bearer tokens must contain', initial: ['`OIDC_CLIENT_ID`'] },
  { names: ['OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET'], meaning: 'the client for sign-in in the browser' },
  {
    names: ['OIDC_TRUST_EMAIL'],
    meaning: '`true`: you vouch for the e-mail addresses of an issuer that does not send `email_verified`, such as Entra ID',
    initial: ['`false`'],
  },
];
