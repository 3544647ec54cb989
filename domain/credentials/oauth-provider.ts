import type { Provider } from '../integrations/provider.ts';

/** How tokens are revoked: by a request as in RFC 7009, or in the form of the named provider. */
export type RevocationMethod = 'rfc7009' | 'github' | 'slack';

/** Connects accounts by OAuth (RFC 6749, authorization code with PKCE). */
export type OAuthProvider = {
  readonly label: string;
  /** Identifies the authorization server: a callback's parameter `iss`, if any, must equal it (RFC 9207). */
  readonly issuer: string;
  /** A callback without `iss` is then refused. */
  readonly sendsIssuer?: boolean;
  readonly authorizationUrl: string;
  readonly tokenUrl: string;
  readonly revocation: { readonly method: RevocationMethod; readonly url: string } | null;
  readonly scopes: readonly string[];
  /** The separator of the scopes in the authorization URL; a space if absent. */
  readonly scopeSeparator?: ',';
  /** Further parameters of the authorization URL. */
  readonly parameters?: Readonly<Record<string, string>>;
  /** Client credentials by HTTP Basic authentication; otherwise in the body. */
  readonly usesBasic?: boolean;
  /** Connecting an account for an agent creates an integration of this provider; null if the service sends no webhooks. */
  readonly webhooks: Provider | null;
};

/** The providers by service. URL paths and environment variables (OAUTH_<PROVIDER>_CLIENT_ID) contain these names. */
export const OAUTH_PROVIDERS: Readonly<Record<string, OAuthProvider>> = {
  bitbucket: {
    label: 'Bitbucket',
    issuer: 'https://bitbucket.org',
    authorizationUrl: 'https://bitbucket.org/site/oauth2/authorize',
    tokenUrl: 'https://bitbucket.org/site/oauth2/access_token',
    revocation: null,
    scopes: ['account', 'repository'],
    usesBasic: true,
    webhooks: 'bitbucket',
  },
  discord: {
    label: 'Discord',
    issuer: 'https://discord.com',
    authorizationUrl: 'https://discord.com/oauth2/authorize',
    tokenUrl: 'https://discord.com/api/oauth2/token',
    revocation: { method: 'rfc7009', url: 'https://discord.com/api/oauth2/token/revoke' },
    scopes: ['identify'],
    webhooks: 'discord',
  },
  github: {
    label: 'GitHub',
    issuer: 'https://github.com/login/oauth',
    authorizationUrl: 'https://github.com/login/oauth/authorize',
    tokenUrl: 'https://github.com/login/oauth/access_token',
    revocation: { method: 'github', url: 'https://api.github.com/applications' },
    scopes: ['repo', 'read:user'],
    webhooks: 'github',
  },
  gitlab: {
    label: 'GitLab',
    issuer: 'https://gitlab.com',
    authorizationUrl: 'https://gitlab.com/oauth/authorize',
    tokenUrl: 'https://gitlab.com/oauth/token',
    revocation: { method: 'rfc7009', url: 'https://gitlab.com/oauth/revoke' },
    scopes: ['api', 'read_user'],
    webhooks: 'gitlab',
  },
  google: {
    label: 'Google',
    issuer: 'https://accounts.google.com',
    authorizationUrl: 'https://accounts.google.com/o/oauth2/v2/auth',
    tokenUrl: 'https://oauth2.googleapis.com/token',
    revocation: { method: 'rfc7009', url: 'https://oauth2.googleapis.com/revoke' },
    scopes: ['https://www.googleapis.com/auth/calendar.readonly', 'https://www.googleapis.com/auth/drive.readonly'],
    parameters: { access_type: 'offline', prompt: 'consent' },
    webhooks: null,
  },
  jira: {
    label: 'Jira',
    issuer: 'https://auth.atlassian.com',
    authorizationUrl: 'https://auth.atlassian.com/authorize',
    tokenUrl: 'https://auth.atlassian.com/oauth/token',
    revocation: null,
    scopes: ['read:jira-work', 'write:jira-work', 'offline_access'],
    parameters: { audience: 'api.atlassian.com', prompt: 'consent' },
    webhooks: 'jira',
  },
  linear: {
    label: 'Linear',
    issuer: 'https://linear.app',
    authorizationUrl: 'https://linear.app/oauth/authorize',
    tokenUrl: 'https://api.linear.app/oauth/token',
    revocation: { method: 'rfc7009', url: 'https://api.linear.app/oauth/revoke' },
    scopes: ['read', 'write'],
    scopeSeparator: ',',
    webhooks: 'linear',
  },
  slack: {
    label: 'Slack',
    issuer: 'https://slack.com',
    authorizationUrl: 'https://slack.com/oauth/v2/authorize',
    tokenUrl: 'https://slack.com/api/oauth.v2.access',
    revocation: { method: 'slack', url: 'https://slack.com/api/auth.revoke' },
    scopes: ['app_mentions:read', 'channels:history', 'chat:write'],
    scopeSeparator: ',',
    webhooks: 'slack',
  },
  zoom: {
    label: 'Zoom',
    issuer: 'https://zoom.us',
    authorizationUrl: 'https://zoom.us/oauth/authorize',
    tokenUrl: 'https://zoom.us/oauth/token',
    revocation: { method: 'rfc7009', url: 'https://zoom.us/oauth/revoke' },
    scopes: [],
    usesBasic: true,
    webhooks: 'zoom',
  },
};

export const clientVariables = (provider: string): readonly [id: string, secret: string] => [
  `OAUTH_${provider.toUpperCase()}_CLIENT_ID`,
  `OAUTH_${provider.toUpperCase()}_CLIENT_SECRET`,
];
