import { ENCODED_LITERALS } from './encoded-text.ts';

const list = (text: string): string[] => text.trim().split(/\s*\|\s*/);

/** Case does not matter. In some of the words, a digit may replace a letter. */
const WORDS =
  list(`ignor|disregard|forget|overrid|overrul|bypass|supersed|nullif|not follow|t follow|t obey|stop follow|pay no att|longer bound|not bound|
instruct|prompt|guideline|directive|guardrail|safeguard|end of user|end of system|end of untrusted|end of original|your new|your real|your true|your actual|
your only|your sole|your updated|your primary|real task|actual task|true goal|you are now|re now|you are no longer|you are hereby|from now on|from this point|
from this moment|from this message|from here on|pretend|imagine you|roleplay|role play|role-play|simulate|act as|behave as|behave like|respond as|answer as|
reply as|speak as|operate as|function as|assume the role|anything now|jailbr|developer mode|dev mode|debug mode|god mode|admin mode|maintenance mode|dan mode|
root mode|sudo mode|unsafe mode|diagnostic mode|unrestricted|uncensored|no restriction|no ethical|no moral|no safety|no content|no filter|your rules|
your config|your constraints|your training|your context|text above|words above|everything above|content above|sentences above|lines above|message above|
secrets|credential|api key|api_key|api-key|access key|private key|ssh key|access token|passwords|environment var|env var|env file|dotenv|the conversation|
this conversation|full conversation|entire conversation|whole conversation|chat history|conversation history|chat log|message history|customer data|
customer record|customer list|customer database|user data|user records|personal data|internal doc|internal file|internal data|passwd|id_rsa|your memory|
exfiltrat|webhook.site|requestbin|pipedream|ngrok|burpcollab|oastify|interact.sh|oast.|beeceptor|requestcatcher|canarytoken|dnslog|img src|t tell|t inform|
t notify|t mention|t alert|t reveal|t warn|t ask|t disclose|never tell|never mention|never inform|never reveal|without tell|without inform|without notif|
without mention|without alert|without ask|without wait|without confirm|without approv|without consent|without permission|without user|without human|
without any|without the|without further|without verif|without review|without request|skip confirm|skip approv|skip verif|skip review|silently|secretly|quietly|
covertly|no need for conf|llm|language model|chatbot|chat bot|chatgpt|claude|gemini|copilot|automated agent|automated assistant|automated review|
autonomous agent|coding agent|coding assistant|virtual assistant|your developer|your creator|your admin|your owner|your operator|your programmer|openai|
anthropic|deepmind|delete all|delete every|drop all|wipe all|destroy all|destroy every|erase all|remove all|the entire|rm -rf|rm -fr|drop table|
drop database|tool to|tool and|function to|shell to|terminal to|plugin to|command to|all funds|admin access|admin rights|admin role|admin privilege|administrator access|
owner access|owner role|all permissions|system]|system)|system>|system:|system message|system-rem|system note|system override|developer]|assistant]|admin]|assistant:|
human:|begin system|begin new|begin hidden|begin admin|begin secret|user_input|user-input|user_data|user_query|user_message|tool_call|tool_result|tool_use|
tool-call|function_call|function_result|untrusted|end of |end_of_|end input|end data|end user|antml|_of_turn|header_id|eot_id|endofprompt|endoftext|begin_of_text|
missacht|vergiss|vergessen|verwirf|verwerfe|umgeh|anweisung|oubli|consigne|olvid|desconsider|descart|esque|dimentic|trascur|negeer|vergeet|pomin|zapomnij|
you were given|you were told|you received|no sigas|talimat|nerge|komut`);

/** Searched for exactly as written here. */
const EXACT = [
  ...[
    'role"',
    'role\\"',
    'im_start',
    'im_end',
    'im_sep',
    '|system|',
    '|user|',
    '|assistant|',
    '|end|',
    '|channel|',
    '|message|',
    '[INST]',
    '/INST]',
    'SYS>>',
  ],
  ...[
    'инструкц',
    'указани',
    'правил',
    'команд',
    '忽略',
    '无视',
    '無視',
    '忘记',
    '忘記',
    '不要理',
    '不理會',
    '忽视',
    '忘れ',
    '従わ',
    '무시',
    '잊',
  ],
  ...['| bash', '|bash', '| sh ', '| sh\\n', '|sh ', '| sudo', '| zsh'],
  ...['निर्देश', 'التعليمات', 'وامر'],
];

/**
 * Every body that is reported as an instruction contains at least one of these literals; only then are the patterns of injection-words.ts
 * tried. So words of most bodies do not belong here. At least three bytes each.
 */
export const INJECTION_LITERALS: { readonly words: readonly string[]; readonly exact: readonly string[] } = {
  words: [...WORDS, ...ENCODED_LITERALS.words],
  exact: [...EXACT, ...ENCODED_LITERALS.exact],
};
