/**
 * Every text with such a secret contains one of the `literals` (at least three characters), which are searched for first. A group in
 * `pattern` is the secret, not the whole match. A match counts only if `isSecret` returns true. If the pattern ignores case, the literals
 * are in lower case.
 */
export type SecretPattern = {
  readonly tag: string;
  readonly literals: readonly string[];
  readonly pattern: RegExp;
  readonly isSecret?: (text: string) => boolean;
};

const define = (tag: string, literals: string, pattern: RegExp, isSecret?: (text: string) => boolean): SecretPattern => ({
  tag,
  literals: literals.split(' '),
  pattern,
  ...(isSecret && { isSecret }),
});

const isMixed = (text: string): boolean => /\d/.test(text) && /[A-Za-z]/.test(text);

const isBasicAuth = (text: string): boolean => /^[\x20-\x7e]*:[\x20-\x7e]*$/.test(Buffer.from(text, 'base64').toString('latin1'));

/** Whether the value of an assignment such as `password=…` is a secret, and not a placeholder or code. */
const isAssignedSecret = (text: string): boolean =>
  isMixed(text) && !/^(?:\$|%|\{|<|\*|x{4,}|\.\.\.|https?:|process\.|os\.|env\b|redacted|\[redacted)/i.test(text) && !/[(){}]/.test(text);

/** Each repetition has a maximum length, or nothing follows it: the time to search is proportional to the length. */
export const SECRET_PATTERNS: readonly SecretPattern[] = [
  define('annals_key', 'ann_', /\bann_[0-9A-Za-z]{8}_[0-9A-Za-z]{38}\b/g),
  define('aws_access_key', 'AKIA ASIA ABIA ACCA', /\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b/g),
  define('github_token', 'ghp_ gho_ ghu_ ghs_ ghr_ github_pat_', /\b(?:gh[opusr]_[A-Za-z0-9]{36,255}|github_pat_\w{36,255})\b/g),
  define(
    'gitlab_token',
    'glpat- gldt- glrt- glcbt- glptt- glft- glimt- glagent- glsoat- gloas-',
    /\bgl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|soat|oas)-[\w.-]{20,300}/g,
  ),
  define(
    'slack_token',
    'xoxa- xoxb- xoxc- xoxd- xoxe- xoxe. xoxo- xoxp- xoxr- xoxs- xapp-',
    /\b(?:xox[a-eoprs][.-]|xapp-\d)[\w.%-]{10,400}/g,
  ),
  define('slack_webhook', 'hooks.slack.com', /\bhooks\.slack\.com\/(?:services|workflows|triggers)\/[\w/-]{20,200}/g),
  define('stripe_key', 'sk_live_ sk_test_ rk_live_ rk_test_', /\b[sr]k_(?:live|test)_[A-Za-z0-9]{16,255}/g),
  define('webhook_secret', 'whsec_', /\bwhsec_[A-Za-z0-9+/=_-]{24,255}/g),
  define('google_api_key', 'AIza', /\bAIza[\w-]{35}(?![\w-])/g),
  define('google_oauth', 'ya29. GOCSPX-', /\b(?:ya29\.[\w-]{20,2048}|GOCSPX-[\w-]{28})/g),
  define('anthropic_key', 'sk-ant-', /\bsk-ant-[\w-]{20,255}/g),
  define(
    'openai_key',
    'sk-proj- sk-svcacct- sk-admin- T3BlbkFJ',
    /\bsk-(?:(?:proj|svcacct|admin)-[\w-]{20,255}|[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20})/g,
  ),
  define('npm_token', 'npm_', /\bnpm_[A-Za-z0-9]{36}\b/g),
  define('pypi_token', 'pypi-AgE', /\bpypi-AgE[\w-]{50,500}/g),
  define('docker_token', 'dckr_', /\bdckr_(?:pat|oat)_[\w-]{27,64}/g),
  define('sendgrid_key', 'SG.', /\bSG\.[\w-]{16,32}\.[\w-]{16,64}/g),
  define('shopify_token', 'shpat_ shpss_ shpca_ shppa_', /\bshp(?:at|ss|ca|pa)_[a-fA-F0-9]{32}\b/g),
  define('digitalocean_token', 'dop_v1_ doo_v1_ dor_v1_', /\bdo[opr]_v1_[a-f0-9]{64}\b/g),
  define('huggingface_token', 'hf_', /\bhf_[A-Za-z]{34}\b/g),
  define('linear_key', 'lin_api_ lin_oauth_', /\blin_(?:api|oauth)_[A-Za-z0-9]{32,128}/g),
  define('notion_token', 'ntn_ secret_', /\b(?:ntn_[A-Za-z0-9]{40,64}|secret_[A-Za-z0-9]{43})\b/g),
  define('sentry_token', 'sntrys_ sntryu_', /\bsntry[su]_[A-Za-z0-9+/=_-]{40,500}/g),
  define('atlassian_token', 'ATATT3 ATCTT3 ATBB', /\b(?:AT[AC]TT3[\w=-]{60,300}|ATBB[A-Za-z0-9]{32})/g),
  define('telegram_token', ':AA', /\b\d{8,10}:AA[\w-]{32,34}/g),
  define('discord_webhook', 'api/webhooks/ api\\/webhooks\\/', /\bdiscord(?:app)?\.com\/api\/webhooks\/\d{17,20}\/[\w-]{60,80}/g),
  define('azure_key', 'AccountKey', /\bAccountKey=([A-Za-z0-9+/]{86}==)/g),
  define('vault_token', 'hvs. hvb.', /\bhv[sb]\.[\w-]{24,300}/g),
  define('databricks_token', 'dapi', /\bdapi[a-f0-9]{32}\b/g),
  define('square_token', 'sq0atp- sq0csp-', /\bsq0(?:atp|csp)-[\w-]{22,64}/g),
  define('grafana_token', 'glsa_ glc_', /\b(?:glsa_[A-Za-z0-9]{32}_[a-f0-9]{8}|glc_[A-Za-z0-9+/=]{32,400})/g),
  define('supabase_key', 'sbp_ sb_secret_', /\b(?:sbp_[a-f0-9]{40}|sb_secret_[\w-]{20,64})\b/g),
  define('groq_key', 'gsk_', /\bgsk_[A-Za-z0-9]{52}\b/g),
  define('age_key', 'AGE-SECRET-KEY-1', /\bAGE-SECRET-KEY-1[A-Z0-9]{58}\b/g),
  define('bearer_token', 'earer', /\bbearer\s{1,4}([A-Za-z0-9._~+/-]{16,4096}={0,2})/gi, isMixed),
  define('basic_auth', 'asic', /(?:^|authorization["':\s]{1,6})basic\s{1,4}([A-Za-z0-9+/]{6,4096}={0,2})/gi, isBasicAuth),
  {
    // Text of scripts that are written without blanks is not a part of the value.
    tag: 'credential',
    literals: ['key', 'secret', 'token', 'password', 'passwd', 'pwd'].flatMap((name) =>
      [':', '=', ' =', '"', '\\', '：'].map((end) => name + end),
    ),
    pattern:
      /\b\w{0,64}(?:api[_-]?key|access[_-]?key|secret[_-]?key|secret|token|passw(?:or)?d|pwd)\\{0,3}["']?\s?[:=：]\s{0,4}\\{0,3}["']?([^\s"',;&\\\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3000-\u30ff\u3400-\u9fff\uac00-\ud7af\uff00-\uffef]{8,512})/gi,
    isSecret: isAssignedSecret,
  },
];
