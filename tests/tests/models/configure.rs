//! From the environment to a model that answers.

use legwork_tests::model_server::{ModelServer, Script, Turn, UsageTurn};
use serde_json::json;

use crate::setup::{models, patient, question};

#[tokio::test]
async fn a_server_without_a_key_is_asked_without_one() {
    let server = ModelServer::start(Script::always(Turn::text("local"))).await;
    let host = format!("127.0.0.1:{}", server.port());
    let (plain, slash) = (format!("http://{host}"), format!("http://{host}/v1/"));
    for (variable, value, name) in [
        ("OPENAI_BASE_URL", plain.as_str(), "any-model"),
        ("OPENAI_BASE_URL", slash.as_str(), "openai:any-model"),
        ("ANTHROPIC_BASE_URL", plain.as_str(), "any-model"),
        ("OLLAMA_HOST", host.as_str(), "ollama:llama3:8b"),
    ] {
        let model = models(&[(variable, value)], patient()).resolve(name).expect("a model");
        let mut request = question();
        request.model.clone_from(&model.name);
        assert_eq!(model.chat.chat(&request, &|_| ()).await.expect("a reply").text, "local");
    }
    let requests = server.requests();
    let paths: Vec<_> = requests.iter().map(|request| request.path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "/v1/chat/completions",
            "/v1/chat/completions",
            "/v1/messages",
            "/v1/chat/completions"
        ]
    );
    assert_eq!(requests[3].body["model"], "llama3:8b");
    let has_key = |header: &str| requests.iter().any(|request| request.headers.contains_key(header));
    assert_eq!((has_key("authorization"), has_key("x-api-key")), (false, false));
}

#[tokio::test]
async fn a_reply_carries_its_cost_where_the_price_is_known() {
    let usage = UsageTurn::Exactly {
        input: json!(1_000),
        output: json!(100),
    };
    let server = ModelServer::start(Script::always(Turn {
        usage,
        ..Turn::text("x")
    }))
    .await;
    let models = models(&[("OPENAI_BASE_URL", &server.openai_base_url())], patient());
    for (name, known, cost_micro_usd) in [("gpt-5", true, 2_250), ("nobody-knows", false, 0)] {
        let model = models.resolve(name).expect("a model");
        let mut request = question();
        request.model.clone_from(&model.name);
        let reply = model.chat.chat(&request, &|_| ()).await.expect("a reply");
        assert_eq!(
            (model.price.is_some(), reply.usage.cost_micro_usd),
            (known, cost_micro_usd),
            "{name}"
        );
    }
}

/// Set in the process that the next test starts.
const INNER: &str = "LEGWORK_TEST_WITHOUT_CERTIFICATES";

#[tokio::test]
async fn models_on_this_machine_answer_on_a_system_without_certificates() {
    if std::env::var_os(INNER).is_some() {
        let server = ModelServer::start(Script::always(Turn::text("local"))).await;
        // The other provider is not on this machine: its client is made too.
        let variables = [
            ("OPENAI_BASE_URL", server.openai_base_url()),
            ("ANTHROPIC_API_KEY", "k".into()),
        ];
        let variables = variables.each_ref().map(|(name, value)| (*name, value.as_str()));
        let model = models(&variables, patient()).resolve("m").expect("a model");
        assert_eq!(
            model.chat.chat(&question(), &|_| ()).await.expect("a reply").text,
            "local"
        );
        return;
    }
    // The places of certificates are read from the environment of the process, so it takes another one.
    let nowhere = tempfile::tempdir().expect("a folder");
    let status = std::process::Command::new(std::env::current_exe().expect("this program"))
        .args([
            "--exact",
            "configure::models_on_this_machine_answer_on_a_system_without_certificates",
        ])
        .envs([(INNER, "1".as_ref()), ("SSL_CERT_DIR", nowhere.path().as_os_str())])
        .env("SSL_CERT_FILE", nowhere.path().join("none.pem"))
        .status()
        .expect("this program again");
    assert!(status.success());
}
