//! The providers that are known by name.

use genai::adapter::AdapterKind;

use crate::providers::genai::Family;

/// A provider.
#[derive(Debug)]
pub(crate) struct Provider {
    pub(crate) name: &'static str,
    pub(crate) api: Api,
    /// Its address.
    pub(crate) base_url: &'static str,
    /// Where its key is usually found; `None` for servers that need none.
    pub(crate) key_env: Option<&'static str>,
}

/// The protocol that a provider speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Api {
    /// OpenAI's chat completions, and all that imitate them.
    Chat,
    /// OpenAI's Responses.
    Responses,
    /// A protocol of its own, spoken by `genai`.
    Genai(AdapterKind, Family),
}

const fn chat(name: &'static str, base_url: &'static str, key_env: Option<&'static str>) -> Provider {
    Provider { name, api: Api::Chat, base_url, key_env }
}

const fn own(name: &'static str, api: Api, base_url: &'static str, key_env: &'static str) -> Provider {
    Provider { name, api, base_url, key_env: Some(key_env) }
}

const OPENAI_URL: &str = "https://api.openai.com/v1";
const OPENAI_KEY: Option<&str> = Some("OPENAI_API_KEY");

static PROVIDERS: [Provider; 19] = [
    chat("openai", OPENAI_URL, OPENAI_KEY),
    Provider { name: "openai-responses", api: Api::Responses, base_url: OPENAI_URL, key_env: OPENAI_KEY },
    own(
        "anthropic",
        Api::Genai(AdapterKind::Anthropic, Family::Anthropic),
        "https://api.anthropic.com/v1",
        "ANTHROPIC_API_KEY",
    ),
    own(
        "bedrock",
        Api::Genai(AdapterKind::BedrockApi, Family::Bedrock),
        "https://bedrock-runtime.us-east-1.amazonaws.com",
        "BEDROCK_API_KEY",
    ),
    chat("deepseek", "https://api.deepseek.com/v1", Some("DEEPSEEK_API_KEY")),
    chat("fireworks", "https://api.fireworks.ai/inference/v1", Some("FIREWORKS_API_KEY")),
    own(
        "gemini",
        Api::Genai(AdapterKind::Gemini, Family::Gemini),
        "https://generativelanguage.googleapis.com/v1beta",
        "GEMINI_API_KEY",
    ),
    chat("groq", "https://api.groq.com/openai/v1", Some("GROQ_API_KEY")),
    chat("llamacpp", "http://127.0.0.1:8080/v1", None),
    chat("lmstudio", "http://127.0.0.1:1234/v1", None),
    chat("mistral", "https://api.mistral.ai/v1", Some("MISTRAL_API_KEY")),
    chat("ollama", "http://127.0.0.1:11434/v1", None),
    own("ollama-cloud", Api::Genai(AdapterKind::OllamaCloud, Family::Ollama), "https://ollama.com", "OLLAMA_API_KEY"),
    Provider {
        name: "ollama-native",
        api: Api::Genai(AdapterKind::Ollama, Family::Ollama),
        base_url: "http://127.0.0.1:11434",
        key_env: None,
    },
    chat("openrouter", "https://openrouter.ai/api/v1", Some("OPENROUTER_API_KEY")),
    chat("together", "https://api.together.xyz/v1", Some("TOGETHER_API_KEY")),
    // Its address has the project and the place in it, and must be given.
    own("vertex", Api::Genai(AdapterKind::Vertex, Family::Gemini), "", "VERTEX_API_KEY"),
    chat("vllm", "http://127.0.0.1:8000/v1", None),
    chat("xai", "https://api.x.ai/v1", Some("XAI_API_KEY")),
];

pub(super) fn find(name: &str) -> Option<&'static Provider> {
    PROVIDERS.iter().find(|provider| provider.name == name)
}

/// The names of the known providers.
pub(super) fn provider_names() -> Vec<&'static str> {
    PROVIDERS.iter().map(|provider| provider.name).collect()
}
