/** Texts that match are reported under the name. */
export type InjectionPattern = { readonly name: string; readonly pattern: RegExp };

const oneOf = (words: string): string => `(?:${words.trim().replace(/\s*\|\s*/g, '|')})`;

const IGNORE =
  oneOf(`ignor(?:e|es|ed|ing) | disregard(?:ing|ed)? | forget(?:ting)? | overrid(?:e|es|ing) | overrul(?:e|ing) | bypass(?:ing)? | neglect
  | supersedes? | nullify |
  (?:do not|don t|dont|not|never|stop|no longer|refrain from|cease to) (?:follow|following|obey|obeying|listen to|adhere to|comply with|apply)
  | pay no attention to | throw away | set aside | no longer bound by | not bound by`);
const DROP =
  oneOf(`skip | drop | discard | delete | erase | clear | cancel | reset | replace | abandon | void | dismiss | remove | rewrite | update |
  change | stop`);
const EARLIER =
  oneOf(`previous(?:ly)? | prior | above | earlier | preceding | all | any | every | your | ur | system | original | initial | existing |
  current | former | foregoing | other | these | those | safety | security | content | default | hidden | everything | whatever |
  what`);
const ORDERS =
  oneOf(`instructions? | instructed | prompts? | guidelines? | rules? | directives? | directions? | orders? | commands? | context |
  training | programming | polic(?:y|ies) | constraints? | restrictions? | messages? | conversation | guardrails? | safeguards? |
  safety | filters? | limitations? | tasks? | assignments? | protocols? | measures? | moderation |
  you (?:were|have been|ve been|are) (?:told|taught|given|instructed|asked|trained) |
  (?:i|we|they|he|she|someone) (?:have|has )?(?:told|said|gave) | came before | before this | you know`);
const STRICT_ORDERS = oneOf(
  `instructions? | prompts? | system prompts? | guidelines | directives? | guardrails | safeguards | programming`,
);
const SHOW =
  oneOf(`reveal | show | print | repeat | output | display | tell | give | share | expose | leak | dump | disclose | recite | reproduce |
  write | list | return | echo | what (?:is|are|was|were|s) | summari[sz]e | translate | encode | paste | type | spell | say |
  describe | provide | quote | state`);
const PROMPT = oneOf(`system (?:prompt|message|instructions?) |
  (?:initial|original|hidden|secret|internal|developer|base|first|full|exact|complete|entire) (?:system )?(?:prompt|instructions?|message|directives?|guidelines|rules|configuration)
  | your (?:\\S+ ){0,3}(?:instructions?|prompt|rules|guidelines|directives?|configuration|constraints) |
  (?:instructions?|text|words|everything|content|sentences?|lines?|message|prompt) (?:above|that precedes?|before this|prior to this|you (?:were|have been|received|got))
  | pre ?prompt | your (?:training|context window)`);
const SENSITIVE = oneOf(`secrets? | credentials? | (?:api|access|private|ssh|secret|aws|encryption|signing) (?:keys?|tokens?) | passwords? |
  env(?:ironment)? (?:variables?|vars?|file) | env | dotenv |
  (?:the|this|full|entire|whole|our|previous) (?:conversation|chat|discussion) |
  (?:conversation|chat|message) (?:history|log|transcript)s? | system prompt | customer (?:data|records?|list|database) |
  user (?:data|records) | personal data | internal (?:documents?|files?|data|notes) | memory |
  your (?:instructions|context|configuration) | etc passwd | id rsa | tokens? | cookies?`);
const SEND =
  oneOf(`send | post | upload | forward | exfiltrate | transmit | e ?mail | mail | leak | submit | report | append | include | embed |
  encode | put | pass | deliver | share | copy | write | publish | push | attach | render | fetch | get | curl | add | use | read |
  collect | gather | extract | dump`);
const TARGET = oneOf(`https? | url | webhook | server | endpoint | mailto | attacker | remote | external | query | parameter | image |
  \\S+ (?:com|net|io|org|dev|xyz|site|ru|cc|tk|app|evil|example)`);
const PERSON =
  oneOf(`users? | anyone | anybody | human | humans | operators? | admins? | administrators? | owner | customers? | person | people | team
  | them | him | her | me | permission | confirmation | confirming | approval | consent | review | anything | about this |
  this (?:to|instruction|message|step|action|request) | that you | of this | it to | supervisor | manager | developers?`);
const MODEL = oneOf(`ais? | llms? | (?:large )?language models? | chat ?bots? | chat ?gpt | gpt(?: \\d\\S*)? | claude | gemini | copilot |
  ai (?:agents?|assistants?|models?|systems?|bots?|tools?|reviewers?|readers?) |
  (?:automated|autonomous|coding|virtual) (?:agents?|assistants?|bots?|reviewers?)`);
const MEMBER =
  oneOf(`member | owner | admin | collaborator | maintainer | subscriber | part | guest | user | participant | host | follower |
  contributor | manager | registered | verified | customer | moderator | approver | reviewer`);

/** For texts in lower case with one space between words. `~4`: up to four further words; `>`: the end of a word. */
const PHRASES: Readonly<Record<string, readonly string[]>> = {
  override_instructions: [
    `${IGNORE} ~4 ${EARLIER} ~4 ${ORDERS}>`,
    `${IGNORE} (?:the|everything|all|what|anything) ~2 (?:above|before|previous|prior|earlier|you were told|i said|so far|else)`,
    `${IGNORE} ~2 ${STRICT_ORDERS}>`,
    `${IGNORE} what ~4 (?:said|told|wrote|asked|instructed)>`,
    '(?:no longer|not) bound by (?:any|the|your|previous|these|those|confidentiality|rules|policy)',
    `${DROP} ~2 (?:previous|prior|above|earlier|preceding|your|system|original|initial|all) ~2 ${STRICT_ORDERS}>`,
    '(?:new|updated|revised|real|actual|true|important|urgent|additional|special|following|overriding|higher priority|priority) (?:instructions?|system prompt|directives?) (?:are|is|for (?:you|the (?:ai|assistant|agent|model))|from|supersede|override|replace|follow|you (?:must|will|should|are)|to (?:you|the (?:ai|assistant|agent|model))|ignore|begin|disregard|approve|close|reply|send|delete|run|output|print|respond|write|grant|merge|only|as follows|below (?:override|replace|supersede))',
    '(?:your|the) ~1 (?:real|new|actual|true|only|sole|updated|primary) (?:task|goal|objective|mission|purpose|instructions?|job|role) (?:is|are|now|will)',
    '(?:system|admin(?:istrator)?|security|developer|root|emergency|master|priority|safety|policy|prompt|instruction) (?:override|unlock|bypass code)',
    '(?:end|stop|terminate|exit) (?:of (?:the )?|the)?\\s?(?:user|untrusted|system|original|previous) (?:prompt|instructions?|input|session) ~4 (?:begin|start|new|now|system)',
    '(?:ignorier\\S*|missacht\\S*|vergiss|vergessen|verwirf|verwerfe\\S*|umgeh\\S*) ~5 (?:anweisung\\S*|instruktion\\S*|vorgaben?|regeln?|befehle?|prompts?|anordnung\\S*|richtlinien?)>',
    '(?:ignor\\S*|oubli\\S*|neglig\\S*|ne (?:suis|suivez|tiens|tenez) (?:pas|plus)) ~5 (?:instructions?|consignes?|directives?|regles|ordres)>',
    '(?:ignor\\S*|olvid\\S*|omit\\S*|descart\\S*|desconsider\\S*|esquec\\S*|dimentic\\S*|trascur\\S*|no sigas|nao siga) ~5 (?:instruc\\S*|istruzion\\S*|indicacion\\S*|indicazion\\S*|reglas|regole|regras|ordenes|directri\\S*|diretriz\\S*|direttiv\\S*|comandos|comandi)>',
    '(?:negeer|vergeet|zignoruj|ignoruj|pomin|zapomnij\\S*|ignorera|glom|ignorer) ~5 (?:instructies|opdrachten|regels|aanwijzingen|instrukcj\\S*|polecen\\S*|zasad\\S*|instruktion\\S*|instruks\\S*)>',
    '(?:игнорир\\S*|проигнорир\\S*|забуд\\S*|не обращай|не следуй\\S*|отмени\\S*) ~5 (?:инструкци\\S*|указани\\S*|правил\\S*|команд\\S*)>',
    '(?:talimat\\S*|yonerge\\S*|komut\\S*) ~4 (?:yoksay\\S*|gormezden|unut\\S*|dikkate alma\\S*)',
    '\\S*(?:تجاهل|انس)\\S* ~4 \\S*(?:التعليمات|الاوامر|الأوامر)',
  ],
  new_persona: [
    `you (?:are|re) (?:now|no longer|hereby) (?!(?:a|an|the) ${MEMBER})(?:a|an|the|in|called|named|acting|operating|going to|free|dan|my|under|unrestricted|bound|unfiltered|jailbroken|evil|root|connected to)>(?! (?:able|group|team|list|channel|queue))`,
    'from (?:now on|this (?:point|moment|message) (?:on|forward|onward)(?:s)?|here on(?: out)?) ~3 (?:you|your|respond|answer|act|behave|reply|ignore|only|speak|always|obey|every response)>',
    '(?:pretend|imagine|act|behave|roleplay|role play|simulate|respond|answer|speak|operate|function|assume) ~3 (?:as|that you|you are|to be|you re|the role of|like you) ~3 (?:no (?:restrictions?|rules|limits|filters?|guidelines|ethic\\S*)|unrestricted|uncensored|evil|dan|jailbr\\S+|developer mode|admin(?:istrator)?|root|system|hacker|attacker|without (?:any )?(?:restrictions?|filters?|rules|limits|ethics)|ai|assistant|model|bot|agent|language model|terminal|shell|machine|not (?:bound|restricted|an ai))',
    '(?:do anything now|jailbreak(?:ed|ing)? (?:mode|prompt|yourself|the|this|enabled|activated)|(?:enter|enable|activate|switch to|entering|you are in|turn on) (?:\\S+ ){0,2}(?:developer|dev|debug|god|admin|maintenance|dan|jailbreak|unrestricted|root|sudo|test|unsafe|diagnostic) mode)',
    '(?:you have|with|there are|has) no (?:restrictions?|(?:ethical|moral|safety|content) \\S+|filters?|guidelines) ~2 (?:anymore|now|whatsoever|and|or|on)',
  ],
  prompt_leak: [`${SHOW} ~6 ${PROMPT}>`],
  exfiltration: [
    `${SEND} ~6 ${SENSITIVE} ~10 (?:to|at|via|in|as|into|with|on|from|using|and (?:send|post|upload|forward|e ?mail)) ~5 ${TARGET}>`,
    `${SEND} ~3 (?:to|at) ~2 (?:https?|mailto) ~12 (?:with|containing|including) ~5 ${SENSITIVE}>`,
  ],
  hidden_action: [
    `(?:do not|don t|dont|never|must not|without|not to|should not|shouldn t|cannot) ~1 (?:tell|telling|inform|informing|notify|notifying|mention|mentioning|alert|alerting|reveal|revealing|warn|warning|ask|asking|disclose|waiting for|wait for|requesting|requiring|seeking|show|log|report) ~2 ${PERSON}>`,
    '(?:without|skip|no need for|bypass|do not require) (?:(?:any|the|user|human|further )*(?:confirmation|approval|consent|verification|permission))>',
    '(?:silently|secretly|quietly|covertly) (?:send|forward|post|upload|delete|approve|merge|execute|run|add|email|grant|copy|transfer|export)',
  ],
  addresses_model: [
    `(?:if|when|since|because|as) (?:you are|you re|this is being (?:read|processed|summari[sz]ed|handled) by|you as) (?:an? |the )?${MODEL}>`,
    `(?:attention|note|message|instructions?|notice|dear|hello|hey|important|directive|reminder|command|hi|warning|info|task|memo|hint|request|todo)(?: (?:to|for))?(?: (?:all|any|the|every|whichever))? ${MODEL}>`,
    `${MODEL} ~3 (?:must|shall|should (?:now|also|ignore|first|instead|immediately)|(?:is|are) (?:required|instructed|ordered|expected|told|obliged) to|reading this|processing this|handling this|summari[sz]ing this|reviewing this|that reads?|parsing this|please (?:ignore|disregard|follow|approve|send|execute|run|reply|respond|add|include))`,
    '(?:this is|i am|i m|we are|message from|on behalf of|authori[sz]ed by|from|per) (?:your (?:developers?|creators?|administrator|owner|operator|programmers?|maker)|(?:the )?(?:openai|anthropic|google deepmind)(?: (?:team|staff|admin|developers?|safety|support))?) ~4 (?:speaking|override|i (?:order|command|need|instruct|authori[sz]e)|you (?:must|are|should|have|need)|ignore|and|grant|instruct|disable|enable|the)',
  ],
  dangerous_action: [
    '(?:delete|drop|wipe|destroy|erase|remove) (?:\\S+ ){0,1}(?:all|every|everything|the entire|the whole) ~3 (?:files|data|repositor\\S+|branches|databases?|tables|records|backups?|users|accounts|logs) ~6 (?:now|immediately|without|silently|on the server|using (?:the|your)|via|and (?:do not|don t|then))',
    '(?:use|call|invoke|run|execute|trigger) (?:the|your|this|following) ~3 (?:tool|function|shell|terminal|command|plugin|api) ~3 (?:to|and) ~4 (?:delete|send|exfiltrate|transfer|grant|upload|post|e ?mail|download|disable|forward|read|fetch|add)',
    '(?:transfer|wire|pay|refund|grant|approve|merge|give) ~5 (?:immediately|automatically|right away|admin(?:istrator)? (?:access|rights|role|privileges?)|owner (?:access|role)|all (?:funds|permissions)) ~8 (?:without|do not|don t|to (?:this|the following)|user|account|skip)',
  ],
};

const phrasePattern = (phrase: string): RegExp =>
  new RegExp(`(?:^| )${phrase.replace(/ ~(\d+)/g, '(?: \\S+){0,$1}?').replaceAll('>', '(?= |$)')}`);

/** Matched against a text in normal form (see normal-text.ts). */
export const WORD_PATTERNS: readonly InjectionPattern[] = [
  ...Object.entries(PHRASES).flatMap(([name, phrases]) => phrases.map((phrase) => ({ name, pattern: phrasePattern(phrase) }))),

  {
    name: 'override_instructions',
    pattern:
      /(?:ignore|disregard|forget|override) ?(?:all|any|the|of|my|your| ){0,6}(?:previous|prior|above|earlier|system) ?(?:system ?)?(?:instruction|prompt|rules|guideline|directive)/,
  },
  {
    name: 'override_instructions',
    pattern: /(?:忽略|无视|無視|忘记|忘記|不要理会|不理會|请忽视)[^。\n]{0,20}(?:指令|指示|提示|说明|說明|規則|规则|命令|要求|内容)/,
  },
  {
    name: 'override_instructions',
    pattern:
      /(?:指示|命令|プロンプト|ルール|説明)[^。\n]{0,12}(?:無視|忘れ|従わな)|(?:지시|명령|프롬프트|규칙|지침)[^.\n]{0,12}(?:무시|잊)|(?:निर्देश)[^।\n]{0,20}(?:अनदेखा|नजरअंदाज|नज़रअंदाज़|भूल)/,
  },
];
