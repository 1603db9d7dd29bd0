//! Secrets at rest, both ways with the Python engine's own module.

use heat_engine::clock::Clock;
use heat_engine::identity::credentials::UserCredentials;
use heat_engine::identity::crypt::{CryptError, EncryptionKey};
use heat_engine::store::{NewUserCreds, PropertiesData};
use secrecy::SecretString;
use serde_json::{Value, json};

use super::fresh_store;
use crate::lab::Lab;

const KEYS: [&str; 3] = [
    "notgood but just long enough i t",
    "0123456789abcdef",
    "0123456789abcdef01234567",
];

const TEXT: &str = "h\u{fc}sh \u{1f511} \n";

fn key(text: &str) -> EncryptionKey {
    EncryptionKey::new(SecretString::from(text.to_owned()), Clock::system()).expect("a good key")
}

#[test]
fn python_reads_what_we_write() {
    let read = r"
import json, sys
from heat.common import crypt
key, method, data = sys.argv[1:4]
properties = json.loads(sys.argv[4])
print(json.dumps([crypt.decrypt(method, data, key), crypt.decrypted_dict(properties, key)]))
";
    let properties = json!({"name": "\u{e9}", "list": [1, 2.5, null, {"a": true}]});
    for text in KEYS {
        let key = key(text);
        let sealed = key.encrypt(TEXT).expect("encrypts");
        let row = key
            .seal_properties(properties.as_object().expect("an object"), true)
            .expect("encrypts");
        let stored = row.data.expect("data");
        let answer = Lab::get().python_json(read, &[text, &sealed.method, &sealed.data, &stored]);
        assert_eq!(answer, json!([TEXT, properties]), "{text}");
    }
}

#[test]
fn we_read_what_python_writes() {
    let write = r"
import json, sys
from heat.common import crypt
key, text = sys.argv[1:3]
print(json.dumps([crypt.encrypt(text, key), crypt.encrypted_dict({'a': text, 'b': [1, None]}, key)]))
";
    for text in KEYS {
        let written = Lab::get().python_json(write, &[text, TEXT]);
        let (method, data) = (
            written[0][0].as_str().expect("text"),
            written[0][1].as_str().expect("text"),
        );
        assert_eq!(key(text).decrypt(method, data).as_deref(), Ok(TEXT), "{text}");
        let row = PropertiesData {
            data: Some(written[1].to_string()),
            encrypted: true,
        };
        let opened = key(text).open_properties(&row).expect("decrypts");
        assert_eq!(Value::Object(opened), json!({"a": TEXT, "b": [1, null]}));
        let wrong = key("another key of 32 characters or.");
        assert_eq!(wrong.decrypt(method, data), Err(CryptError::WrongKey));
        assert_eq!(wrong.open_properties(&row), Err(CryptError::WrongKey));
    }
}

/// The two forms of old releases, which nothing writes any more, made here and read by both.
#[test]
fn the_forms_of_old_releases_are_read() {
    let write = r"
import base64, json, os, sys
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from heat.common import crypt
key, text = sys.argv[1], sys.argv[2].encode()
iv = os.urandom(16)
def run(mode, data):
    encryptor = Cipher(algorithms.AES(key.encode()), mode).encryptor()
    return base64.b64encode(iv + encryptor.update(data) + encryptor.finalize()).decode()
zeros = 15 - len(text) % 16
cbc = run(modes.CBC(iv), text + bytes(zeros) + bytes([zeros]))
cfb = run(modes.CFB(iv), text)
for method, data in (('oslo_decrypt_v1', cbc), ('heat_decrypt', cfb)):
    assert crypt.decrypt(method, data, key) == text.decode(), method
print(json.dumps([cbc, cfb]))
";
    for text in KEYS {
        for secret in [TEXT, "", "15 bytes of text", "sixteen bytes..."] {
            let written = Lab::get().python_json(write, &[text, secret]);
            let data = |at: usize| written[at].as_str().expect("text");
            assert_eq!(key(text).decrypt("oslo_decrypt_v1", data(0)).as_deref(), Ok(secret));
            assert_eq!(key(text).decrypt("heat_decrypt", data(1)).as_deref(), Ok(secret));
        }
    }
    let wrong = key(KEYS[0]).decrypt("oslo_decrypt_v1", &"A".repeat(64));
    assert_eq!(wrong, Err(CryptError::WrongKey));
}

#[tokio::test(flavor = "multi_thread")]
async fn stored_credentials_are_pythons_too() {
    let (database, store) = fresh_store("creds").await;
    let read = r"
import json, sys
from oslo_config import cfg
from heat.common import context, crypt
from heat.db import api
cfg.CONF([], project='heat')
cfg.CONF.set_override('connection', sys.argv[1], 'database')
cfg.CONF.set_override('auth_encryption_key', sys.argv[2])
cnxt = context.get_admin_context()
row = api.user_creds_get(cnxt, 1)
made = api.user_creds_create(context.RequestContext(
    username='demo', password='hush', project_name='demo', project_id='p1', auth_url='u', region_name='r'))
print(json.dumps([row['trust_id'], row['password'], made['id']]))
";
    let trust = UserCredentials {
        trust_id: Some("trust-1".to_owned()),
        trustor_user_id: Some("u1".to_owned()),
        ..UserCredentials::default()
    };
    let row = key(KEYS[1]).seal_credentials(&trust).expect("encrypts");
    assert_eq!(store.user_creds_create(&row).await.expect("a row"), 1);
    let answer = Lab::get().python_json(read, &[&database.url(), KEYS[1]]);
    assert_eq!(answer, json!(["trust-1", null, 2]));
    let row = store.user_creds_get(2).await.expect("a read").expect("a row");
    let opened = key(KEYS[1]).open_credentials(&row).expect("decrypts");
    assert_eq!(
        (opened.username.as_deref(), opened.password.as_deref()),
        (Some("demo"), Some("hush"))
    );
    assert_eq!(
        (opened.tenant.as_deref(), opened.tenant_id.as_deref()),
        (Some("demo"), Some("p1"))
    );
    assert!(matches!(key(KEYS[0]).open_credentials(&row), Err(CryptError::WrongKey)));
    assert_eq!(
        store.user_creds_create(&NewUserCreds::default()).await.expect("a row"),
        3
    );
    assert!(store.user_creds_delete(3).await.expect("an outcome"));
    assert!(!store.user_creds_delete(3).await.expect("an outcome"));
}
