//! A nova that knows availability zones, in a region of its own: whoever names another region sees a cloud without nova.

use heat_engine::cloud::{Cloud, KEYSTONE, ServiceClient};
use serde_json::{Map, Value, json};

use crate::cloud::{caller, cloud_with, lab_options};
use crate::fault_proxy::{Fate, FaultProxy};
use crate::lab::Lab;

/// Callers find Keystone where it is, whatever region they name.
pub const REGION_OF_KEYSTONE: &str = "[keystone_authtoken]\nregion_name = RegionOne\n";

pub struct Nova {
    pub door: FaultProxy,
    region: String,
    service_id: String,
    keystone: ServiceClient,
    _cloud: Cloud,
}

impl Nova {
    pub async fn start(zones: &[&str]) -> Self {
        // There is nothing behind the door: every request is answered at it.
        let door = FaultProxy::start("http://127.0.0.1:9").await;
        let url = format!("{}/v2.1", door.url);
        let nova = Self::at(door, &url).await;
        nova.serve(zones);
        nova
    }

    /// One that the catalogue has under an address at which nobody listens.
    pub async fn away() -> Self {
        Self::at(FaultProxy::start("http://127.0.0.1:9").await, "http://127.0.0.1:9/v2.1").await
    }

    async fn at(door: FaultProxy, url: &str) -> Self {
        let cloud = cloud_with(lab_options());
        let admin = caller("admin", &Lab::get().keystone.url);
        let keystone = cloud.session(&admin).expect("a session").service(&KEYSTONE);
        let made = keystone.post("regions", json!({"region": {}})).send_for("region").await;
        let region = made.expect("a region")["id"].as_str().expect("an id").to_owned();
        let service = json!({"service": {"type": "compute", "name": "nova"}});
        let made = keystone.post("services", service).send_for("service").await;
        let service_id = made.expect("a service")["id"].as_str().expect("an id").to_owned();
        let endpoint = json!({"endpoint": {
            "service_id": service_id, "interface": "public", "url": url, "region_id": region,
        }});
        keystone.post("endpoints", endpoint).send().await.expect("an endpoint");
        Self {
            door,
            region,
            service_id,
            keystone,
            _cloud: cloud,
        }
    }

    /// Has these zones from now on.
    pub fn serve(&self, zones: &[&str]) {
        let zones: Vec<Value> = zones
            .iter()
            .map(|zone| json!({"zoneName": zone, "zoneState": {"available": true}, "hosts": null}))
            .collect();
        self.answer(200, &json!({"availabilityZoneInfo": zones}));
    }

    /// Answers so from now on.
    pub fn answer(&self, status: u16, body: &Value) {
        let body = body.to_string();
        self.door.rule(move |_| Fate::Answer(status, body.clone()));
    }

    /// A user of its region, with a catalogue that has it.
    pub fn user(&self) -> Map<String, Value> {
        let mut context = caller("demo", &Lab::get().keystone.url).to_wire();
        context.insert("region_name".to_owned(), self.region.as_str().into());
        context
    }

    pub async fn close(self) {
        for path in [
            format!("services/{}", self.service_id),
            format!("regions/{}", self.region),
        ] {
            self.keystone.delete(path).send().await.expect("it is deleted");
        }
    }
}
